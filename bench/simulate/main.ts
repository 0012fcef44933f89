import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { QUICK_CURVES, RATE_CURVES, RECEIVER_CURVES } from './plan.ts';
import { printScaleTables } from './report.ts';
import { measureCurves } from './run.ts';

const FILE = fileURLToPath(new URL('../../docs/scale.md', import.meta.url));
/** One for all runs, so that what differs between two of them is the code. */
const SEED = 'scale';

/** Simulates all loads, prints how it goes on, and writes `docs/scale.md`; quickly: a few, which are printed only. */
export async function writeScale(isQuick: boolean): Promise<void> {
  // Refusals come by the ten thousand, and nobody looks at where they were made.
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
