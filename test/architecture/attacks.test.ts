import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText, sourceFiles } from './repository.ts';

const NAMED = /test\(\s*['"`]row (?<row>\d+): /g;

/** The words in the column of tests, by row. */
function listed(): ReadonlyMap<string, readonly string[]> {
  const [, table = ''] = readText('docs/security.md').split('### Attacks');
  const [attacks = ''] = table.split('\n## ');
  return new Map(
    [...attacks.matchAll(/^\| (?<row>\d+) .* \| (?<words>[^|]+) \|$/gm)].map(({ groups }) => [
      String(groups?.['row']),
      [...String(groups?.['words']).matchAll(/`(.+?)`/g)].map(([, word]) => String(word)),
    ]),
  );
}

/** Which test files name which row. */
function named(): readonly { readonly row: string; readonly path: string }[] {
  return sourceFiles()
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) =>
      [...readText(path).matchAll(NAMED)].map(({ groups }) => ({
        row: String(groups?.['row']),
        path,
      })),
    );
}

test('the table of attacks has every row that tests name, and leads to these tests', () => {
  const words = listed();
  const lost = named().filter(
    ({ row, path }) => words.get(row)?.some((word) => path.includes(word)) !== true,
  );
  assert.deepEqual(lost, []);
});

test('every row of the table of attacks has a test, and every word in it finds one', () => {
  const all = named();
  const untested = [...listed()].flatMap(([row, words]) =>
    words
      .filter((word) => !all.some((one) => one.row === row && one.path.includes(word)))
      .map((word) => `${row}: ${word}`),
  );
  assert.deepEqual(untested, []);
  assert.ok(listed().size > 20);
});
