import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartupError } from '../../../local/startup-error.ts';
import { serveNamespace } from './served-namespace.ts';
import { type Result, STACKS } from './stacks.ts';

/**
 * `npm run stacks`: clients of other languages and the frameworks on top of them against one namespace, those that are
 * installed on this machine. Arguments keep the stacks whose name holds any of them: `npm run stacks -- proton`.
 */

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof StartupError ? error.message : error);
  process.exit(1);
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
  const namespace = await serveNamespace(folder);
  const results: [string, Result][] = [];
  try {
    for (const { name, run } of stacks) {
      console.log(`\n${name}`);
      results.push([name, await run(namespace.environment, folder)]);
    }
  } finally {
    await namespace.stop();
    rmSync(folder, { recursive: true });
  }
  console.log('');
  for (const [name, result] of results) console.log(`${name}: ${said(result)}`);
  const faults = namespace.faults();
  if (faults !== '') console.error(`\nThe server reported faults of its own:\n${faults}`);
  return faults === '' && results.every(([, result]) => isGood(result)) ? 0 : 1;
}

function isGood(result: Result): boolean {
  return result !== 'crashed' && ('notInstalled' in result || result.failed === 0);
}

function said(result: Result): string {
  if (result === 'crashed') return 'crashed';
  if ('notInstalled' in result) return `not tried on this machine: ${result.notInstalled}`;
  const { what, ran, failed, skipped } = result;
  const left = skipped === 0 ? '' : `, ${skipped} left out`;
  return `${ran - failed - skipped} of ${ran} pass${left} (${what})`;
}
