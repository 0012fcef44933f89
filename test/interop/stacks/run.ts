import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartupError } from '../../../local/startup-error.ts';
import { isGood, type Result, said } from './results.ts';
import { serveNamespace } from './served-namespace.ts';
import { STACKS, type Stack } from './stacks.ts';

/**
 * `npm run stacks`: clients of other languages and the frameworks on top of them against one namespace, those that are
 * installed on this machine. Arguments keep the stacks whose name holds any of them: `npm run stacks -- proton`.
 */

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;
/** The exit code of a process that a signal ends is the signal's number and this. */
const SIGNALLED = 128;
/** What was ended may still write for a moment. */
const REMOVALS_MAX = 10;

let signalled: (typeof SIGNALS)[number] | undefined;
const stop = new AbortController();
for (const signal of SIGNALS) {
  // A terminal and npm may both send one: the others change nothing.
  process.on(signal, () => {
    signalled ??= signal;
    stop.abort();
  });
}
const code = await main(process.argv.slice(2)).catch(report);
process.exit(codeOfSignal() ?? code);

function codeOfSignal(): number | undefined {
  return signalled && SIGNALLED + constants.signals[signalled];
}

function report(error: unknown): number {
  // After a signal, what fails has been ended.
  if (signalled === undefined) console.error(error instanceof StartupError ? error.message : error);
  return 1;
}

/** Returns the exit code. */
async function main(filters: readonly string[]): Promise<number> {
  const stacks = STACKS.filter(
    ({ name }) => filters.length === 0 || filters.some((filter) => name.includes(filter)),
  );
  if (stacks.length === 0) {
    console.error(`No stack has ${filters.join(' or ')} in its name.`);
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'stacks-'));
  try {
    return await runAll(stacks, folder);
  } finally {
    rmSync(folder, { recursive: true, maxRetries: REMOVALS_MAX });
  }
}

async function runAll(stacks: readonly Stack[], folder: string): Promise<number> {
  const namespace = await serveNamespace(folder);
  const results: [string, Result][] = [];
  try {
    for (const { name, run } of stacks) {
      stop.signal.throwIfAborted();
      console.log(`\n${name}`);
      const variables = namespace.environment;
      results.push([name, await run({ variables, folder, stop: stop.signal })]);
    }
  } finally {
    await namespace.stop();
  }
  console.log('');
  for (const [name, result] of results) console.log(`${name}: ${said(result)}`);
  const faults = namespace.faults();
  if (faults !== '') console.error(`\nThe server reported faults of its own:\n${faults}`);
  return faults === '' && results.every(([, result]) => isGood(result)) ? 0 : 1;
}
