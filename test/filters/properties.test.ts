import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Properties } from '../../shared/domain/messages/property-value.ts';
import { applyAction } from '../../shared/filters/action.ts';
import { likeMatcher } from '../../shared/filters/evaluation/like.ts';
import { FilterError } from '../../shared/filters/filter-error.ts';
import { parseAction, parsePredicate } from '../../shared/filters/language/parse.ts';
import { print, printAction } from '../../shared/filters/language/print.ts';
import type { Predicate, Statement } from '../../shared/filters/language/syntax.ts';
import {
  calmConditions,
  calmSets,
  predicates,
  propertySets,
  statements,
  texts,
} from './arbitraries.ts';
import { countingRandom, type FilterResult, inputOf, resultOf } from './support.ts';

/** Trees without the positions of their nodes, so that trees of different texts can be compared. */
function withoutPositions(tree: unknown): unknown {
  return JSON.parse(
    JSON.stringify(tree, (key, value) =>
      key === 'at' ? undefined : typeof value === 'bigint' ? `${value}n` : value,
    ),
  );
}

test('a printed condition parses to the same tree, and prints the same again', () => {
  fc.assert(
    fc.property(predicates, (tree: Predicate) => {
      const text = print(tree);
      const parsed = parsePredicate(text);
      assert.deepEqual(withoutPositions(parsed), withoutPositions(tree), text);
      assert.equal(print(parsed), text);
    }),
    { numRuns: 1500 },
  );
});

test('a printed action parses to the same statements', () => {
  fc.assert(
    fc.property(fc.array(statements, { minLength: 1, maxLength: 5 }), (list: Statement[]) => {
      const text = printAction(list);
      assert.deepEqual(withoutPositions(parseAction(text)), withoutPositions(list), text);
    }),
  );
});

/** Calls a function and accepts only a FilterError. */
function onlyFilterErrors(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    assert.ok(error.position >= 0 && error.line >= 1 && error.column >= 1);
  }
}

test('no text makes the parser throw anything but FilterError', () => {
  fc.assert(
    fc.property(texts, (text) => {
      onlyFilterErrors(() => parsePredicate(text));
      onlyFilterErrors(() => parseAction(text));
    }),
    { numRuns: 3000 },
  );
});

test('a filter with changed characters parses, or fails at a position inside the text', () => {
  const changes = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'()[]\'"=<>!,;.@% \n0aE_-')), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(predicates, changes, (tree, edits) => {
      let text = print(tree);
      for (const [at, character] of edits) {
        const place = at % (text.length + 1);
        text = text.slice(0, place) + character + text.slice(place + (at % 2));
      }
      try {
        parsePredicate(text);
      } catch (error) {
        assert.ok(error instanceof FilterError);
        assert.ok(error.position <= text.length);
      }
    }),
    { numRuns: 2000 },
  );
});

test('evaluation returns a truth value or throws FilterError, whatever the properties are', () => {
  fc.assert(
    fc.property(predicates, propertySets, (tree, properties) => {
      resultOf(print(tree), inputOf(properties), properties);
    }),
    { numRuns: 3000 },
  );
});

test('an action returns a message or throws FilterError, and does not change its input', () => {
  fc.assert(
    fc.property(fc.array(statements, { minLength: 1, maxLength: 4 }), propertySets, (list, set) => {
      const input = inputOf(set);
      const before = { ...input.message.properties };
      const action = { expression: printAction(list), parameters: set };
      onlyFilterErrors(() => applyAction(action, input, countingRandom()));
      assert.deepEqual({ ...input.message.properties }, before);
    }),
    { numRuns: 1500 },
  );
});

const same = (a: string, b: string, properties: Properties): void => {
  const input = inputOf(properties);
  const [left, right]: readonly FilterResult[] = [resultOf(a, input), resultOf(b, input)];
  assert.equal(left, right, `${a}  against  ${b}`);
};

const laws: readonly (readonly [string, (p: string, q: string) => readonly [string, string]])[] = [
  ['De Morgan for AND', (p, q) => [`NOT ((${p}) AND (${q}))`, `NOT (${p}) OR NOT (${q})`]],
  ['De Morgan for OR', (p, q) => [`NOT ((${p}) OR (${q}))`, `NOT (${p}) AND NOT (${q})`]],
  ['double negation', (p) => [`NOT NOT (${p})`, p]],
  ['AND with itself', (p) => [`(${p}) AND (${p})`, p]],
  ['OR with false', (p) => [`(${p}) OR 1 = 0`, p]],
  ['absorption', (p, q) => [`(${p}) OR ((${p}) AND (${q}))`, p]],
];

for (const [name, law] of laws) {
  test(`three-valued law: ${name}`, () => {
    fc.assert(
      fc.property(calmConditions, calmConditions, calmSets, (p, q, properties) => {
        const [left, right] = law(p, q);
        assert.notEqual(resultOf(left, inputOf(properties)), 'error');
        same(left, right, properties);
      }),
      { numRuns: 800 },
    );
  });
}

test('IN is a chain of = with OR, NOT IN its negation', () => {
  const values = ['1', "'red'", 'color', 'quantity', 'missing', 'NULL', '2.5'];
  const list = fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.constantFrom('color', 'quantity'), list, propertySets, (x, items, set) => {
      const chain = items.map((item) => `${x} = ${item}`).join(' OR ');
      same(`${x} IN (${items.join(', ')})`, chain, set);
      same(`${x} NOT IN (${items.join(', ')})`, `NOT (${chain})`, set);
    }),
  );
});

/** The definition of LIKE as a simple, slow reference. */
function likeByDefinition(text: string, pattern: string): boolean {
  if (pattern === '') return text === '';
  const rest = pattern.slice(1);
  if (pattern.startsWith('%')) {
    return (
      likeByDefinition(text, rest) || (text !== '' && likeByDefinition(text.slice(1), pattern))
    );
  }
  return (
    text !== '' &&
    (pattern[0] === '_' || pattern[0] === text[0]) &&
    likeByDefinition(text.slice(1), rest)
  );
}

test('LIKE agrees with its definition', () => {
  const word = (letters: string, maxLength: number) =>
    fc.array(fc.constantFrom(...letters), { maxLength }).map((list) => list.join(''));
  const fail = (reason: string) => new FilterError(reason, { text: '', at: 0 });
  fc.assert(
    fc.property(word('ab', 14), word('ab_%', 9), (text, pattern) => {
      const found = likeMatcher(pattern, undefined, fail)(text);
      assert.equal(found, likeByDefinition(text, pattern), `${text} LIKE ${pattern}`);
    }),
    { numRuns: 5000 },
  );
});

test('LIKE finds long segments that span several words of its bit masks', () => {
  const fail = (reason: string) => new FilterError(reason, { text: '', at: 0 });
  fc.assert(
    fc.property(fc.nat(100), fc.nat(120), fc.nat(60), (hole, length, lead) => {
      const piece = Array.from({ length: length + 1 }, (_, at) => 'abc'[(at * at + at) % 3]).join(
        '',
      );
      const pattern = `%${piece.slice(0, hole)}_${piece.slice(hole + 1)}%`;
      const text = `${'a'.repeat(lead)}${piece}${hole > length ? 'x' : ''}${'b'.repeat(3)}`;
      const matches = likeMatcher(pattern, undefined, fail);
      assert.equal(matches(text), true);
      assert.equal(matches('z'.repeat(text.length)), /^%_*%$/.test(pattern));
    }),
  );
});
