import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedTests } from '../coverage/names.ts';
import { readPage } from '../coverage/rules.ts';
import { readText, repositoryFiles } from './repository.ts';

const PAGES = repositoryFiles().filter((path) => /^docs\/semantics\/[^/]+\.md$/.test(path));
const TEXTS = repositoryFiles().filter((path) => /\.(?:ts|mjs|md)$/.test(path));

/** In pieces, so that this file does not offend itself. */
const SECTION = '\u00a7';
const WORD = 'semantics';

/** `(semantics L3)`, `(semantics #41, V2)`. */
const REFERENCE = new RegExp(`\\b${WORD} (?<ids>#?[A-Z]?\\d+(?:(?:, | and )#?[A-Z]?\\d+)*)`, 'g');
/** Ids as the pages themselves write them: `(#41)`, `L16`, `U10 to U12`. */
const BARE = /(?<![\w#.*-])(?:#[A-Z]?\d{1,3}|[A-Z]\d{1,2})\b/g;
/** Sections of documents that are not in the repository. */
const OUTSIDE = new RegExp(
  `\\b(?:${WORD}|design|captures),? (?:${SECTION}|appendix|\\d)|\\bbehaviour \\d`,
  'i',
);

const RULES = PAGES.flatMap((path) => readPage(readText(path)).rules.flatMap(({ ids }) => ids));
const KNOWN: ReadonlySet<string> = new Set(RULES);

test('every rule has an id of its own', () => {
  assert.ok(RULES.length > 400);
  const twice = RULES.filter((id, i) => RULES.indexOf(id) !== i);
  assert.deepEqual(twice, []);
});

test('every rule that code, tests and documentation refer to exists', () => {
  const unknown = TEXTS.flatMap((path) =>
    idsIn(path)
      .filter((id) => !KNOWN.has(id))
      .map((id) => `${path} refers to ${id}`),
  );
  assert.deepEqual(unknown, []);
});

test('nothing refers to sections of documents that are not in the repository', () => {
  assert.deepEqual(
    TEXTS.filter((path) => OUTSIDE.test(readText(path))),
    [],
  );
});

function idsIn(path: string): readonly string[] {
  const text = readText(path);
  const references = [...text.matchAll(REFERENCE)].flatMap(
    ({ groups }) => groups?.['ids']?.split(/, | and /) ?? [],
  );
  if (PAGES.includes(path)) return [...references, ...(text.match(BARE) ?? [])];
  const isTest = /^test\/.+\.ts$/.test(path) && !/^test\/(?:coverage|support)\//.test(path);
  const named = isTest ? namedTests(text).flatMap(({ ids }) => ids.map((id) => `#${id}`)) : [];
  return [...references, ...named];
}
