import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { QUICK_CURVES, RATE_CURVES, RECEIVER_CURVES } from './plan.ts';
import { printScaleTables } from './report.ts';
import { measureCurves } from './run.ts';

const FILE = fileURLToPath(new URL('../../docs/scale.md', import.meta.url));
/** The same seed for all runs, so that results differ only if the code does. */
const SEED = 'scale';

/**
 * Simulates all loads, prints the progress, and writes `docs/scale.md`. A quick run simulates a few and only prints.
 */
export async function writeScale(isQuick: boolean): Promise<void> {
  // A run makes tens of thousands of refusals, whose stack traces are not used.
  Error.stackTraceLimit = 0;
  if (isQuick) {
    await measureCurves(QUICK_CURVES, SEED);
    return;
  }
  const rates = await measureCurves(RATE_CURVES, SEED);
  const receivers = await measureCurves(RECEIVER_CURVES, SEED);
  writeFileSync(FILE, printScaleTables({ seed: SEED, rates, receivers }));
  console.log(`\nWritten to ${FILE}`);
}
