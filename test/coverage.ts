import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXCEPTIONS } from './coverage/exceptions.ts';
import { LEDGER } from './coverage/ledger.ts';
import { namedTests } from './coverage/names.ts';
import { linesOf, missing } from './coverage/report.ts';

/**
 * `npm run coverage`: which behaviours and rules of the reference the names of our tests pin, and
 * which they do not. Ends with 1 where one of queues is open that should not be, or where a test
 * names something that the ledger does not have.
 */

const TESTS = fileURLToPath(new URL('.', import.meta.url));

process.exit(main());

function main(): number {
  const known = new Set(LEDGER.flatMap(({ entries }) => entries.map(({ id }) => id)));
  const named = testSources().flatMap((path) =>
    namedTests(readFileSync(join(TESTS, path), 'utf8')).map((test) => ({ path, ...test })),
  );
  const coverage = new Map<string, number>();
  for (const id of named.flatMap(({ ids }) => ids)) {
    if (known.has(id)) coverage.set(id, (coverage.get(id) ?? 0) + 1);
  }
  for (const line of linesOf(LEDGER, coverage, EXCEPTIONS)) console.log(line);
  console.log(`\n${coverage.size} of ${known.size} are named by ${named.length} tests.`);

  const faults = [
    ...named.flatMap(({ path, name, ids }) =>
      ids.filter((id) => !known.has(id)).map((id) => `test/${path}: no rule is #${id}: ${name}`),
    ),
    ...missing(LEDGER, coverage, EXCEPTIONS).map(
      ({ id, title }) => `No test names #${id}: ${title}`,
    ),
    ...Object.keys(EXCEPTIONS)
      .filter((id) => coverage.has(id))
      .map((id) => `#${id} is named by a test and needs no exception.`),
  ];
  for (const fault of faults) console.error(fault);
  return faults.length === 0 ? 0 : 1;
}

/** Tests, and what several of them share; not the tools, whose names may be only examples. */
function testSources(): readonly string[] {
  return readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/^(?:coverage|support)[./\\]/.test(path))
    .map((path) => path.split(sep).join('/'))
    .sort();
}
