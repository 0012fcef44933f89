import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { namedTests } from './coverage/names.ts';
import { isNamedByTests, linesOf, missing } from './coverage/report.ts';
import { readPage } from './coverage/rules.ts';

/**
 * `npm run coverage`: which rules of docs/semantics the names of tests carry, and which they do not.
 * Ends with 1 where a rule with `#` is named by no test, or a test names a rule that does not exist.
 */

const TESTS = fileURLToPath(new URL('.', import.meta.url));
const PAGES = fileURLToPath(new URL('../docs/semantics/', import.meta.url));

process.exit(main());

function main(): number {
  const pages = readdirSync(PAGES).map((name) => readPage(readFileSync(join(PAGES, name), 'utf8')));
  const known = new Set(pages.flatMap(({ rules }) => rules.flatMap(({ ids }) => ids)));
  const named = testSources().flatMap((path) =>
    namedTests(readFileSync(join(TESTS, path), 'utf8')).map((test) => ({
      path,
      name: test.name,
      ids: test.ids.map((id) => `#${id}`),
    })),
  );
  const coverage = new Map<string, number>();
  for (const id of named.flatMap(({ ids }) => ids)) {
    if (known.has(id)) coverage.set(id, (coverage.get(id) ?? 0) + 1);
  }
  for (const line of linesOf(pages, coverage)) console.log(line);
  const wanted = [...known].filter(isNamedByTests);
  console.log(`\n${coverage.size} of ${wanted.length} are named by ${named.length} tests.`);

  const faults = [
    ...named.flatMap(({ path, name, ids }) =>
      ids.filter((id) => !known.has(id)).map((id) => `test/${path}: no rule is ${id}: ${name}`),
    ),
    ...missing(pages, coverage).map((rule) => `No test names ${rule}`),
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
