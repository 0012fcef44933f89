import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedTests } from '../coverage/names.ts';
import { readPage } from '../coverage/rules.ts';
import { readText, repositoryFiles } from './repository.ts';
import { UNDECIDED_RULES } from './undecided-rules.ts';

const PAGES = repositoryFiles().filter((path) => /^docs\/semantics\/[^/]+\.md$/.test(path));
const PRODUCT = repositoryFiles().filter((path) =>
  /^(?:shared|lambdas|amqp|server|gateway|local|cdk)\/.+\.ts$/.test(path),
);
const TEXTS = repositoryFiles().filter((path) => /\.(?:ts|mjs|md)$/.test(path));

/** Split, so that the pattern does not match this file. */
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

test('every rule is cited somewhere in the product, under one of its ids, unless nothing decides it', () => {
  const cited: ReadonlySet<string> = new Set(
    PRODUCT.flatMap((path) => referencesIn(readText(path))),
  );
  const uncited = PAGES.flatMap((path) => readPage(readText(path)).rules).filter(
    ({ ids }) => !ids.some((id) => cited.has(id)),
  );
  // Both ways: an exception goes once a place decides its rule, or once the rule is gone.
  assert.deepEqual(
    uncited.map(({ ids }) => ids.join(' ')).sort(),
    Object.keys(UNDECIDED_RULES).sort(),
  );
});

function idsIn(path: string): readonly string[] {
  const text = readText(path);
  const references = referencesIn(text);
  if (PAGES.includes(path)) return [...references, ...(text.match(BARE) ?? [])];
  const isTest = /^test\/.+\.ts$/.test(path) && !/^test\/(?:coverage|support)\//.test(path);
  const named = isTest ? namedTests(text).flatMap(({ ids }) => ids.map((id) => `#${id}`)) : [];
  return [...references, ...named];
}

/** A comment may break its line within a citation. */
function referencesIn(text: string): readonly string[] {
  const joined = text.replace(/\n\s*(?:\*|\/\/) /g, ' ');
  return [...joined.matchAll(REFERENCE)].flatMap(
    ({ groups }) => groups?.['ids']?.split(/, | and /) ?? [],
  );
}
