import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyAction } from '../../shared/filters/action.ts';
import { compileFilter } from '../../shared/filters/evaluation/compile.ts';
import { decodeDecimal, encodeDecimal } from '../../shared/filters/evaluation/decimal.ts';
import { FilterError } from '../../shared/filters/filter-error.ts';
import { FILTER_LIMITS } from '../../shared/filters/filter-limits.ts';
import { parsePredicate } from '../../shared/filters/language/parse.ts';
import { print } from '../../shared/filters/language/print.ts';
import { SourceCache } from '../../shared/filters/source-cache.ts';
import { countingRandom, inputOf, resultOf, string } from './support.ts';

const LENGTH = 1024;
/** The maximum size of a property: 32 KB. */
const FULL = 'a'.repeat(32 * 1024);

/** Far above the time that is needed, and far below that of a naive matcher: its worst patterns take minutes. */
function withinSeconds(seconds: number, run: () => void): void {
  const start = performance.now();
  run();
  assert.ok(performance.now() - start < seconds * 1000);
}

const repeated = (piece: string, end = '', length = LENGTH): string =>
  piece.repeat(Math.floor((length - end.length) / piece.length)) + end;

test('deep nesting of every kind is refused before it can exhaust the stack', () => {
  const nested = [
    '(',
    'NOT ',
    '-',
    '+',
    '- ',
    'p(',
    'NOT(',
    '1+(',
    'a=1 OR (',
    'EXISTS(p(',
    'a IN (',
  ];
  for (const piece of nested) {
    for (const length of [LENGTH, FILTER_LIMITS.parsedLength]) {
      assert.throws(() => parsePredicate(repeated(piece, '', length)), FilterError, piece);
    }
  }
});

test('chains of operators are not nesting: a thousand characters of them parse, print and run', () => {
  const chains = [
    repeated('a=1 OR ', 'a=1'),
    repeated('a=1 AND ', 'a=1'),
    `${repeated('1+', '1', LENGTH - 4)} = 0`,
    `${repeated('1-', '1', LENGTH - 4)} = 0`,
    `a IN (${repeated('1,', '1', LENGTH - 7)})`,
    repeated('NOT a=1 AND ', 'a=1'),
  ];
  for (const chain of chains) {
    assert.ok(chain.length <= LENGTH);
    assert.deepEqual(
      print(parsePredicate(print(parsePredicate(chain)))),
      print(parsePredicate(chain)),
    );
    assert.notEqual(resultOf(chain, inputOf()), 'error');
  }
});

test('a text longer than the parser reads is refused at once', () => {
  const error = (() => {
    try {
      return parsePredicate('('.repeat(1_000_000));
    } catch (caught) {
      return caught;
    }
  })();
  assert.ok(error instanceof FilterError);
  assert.match(error.reason, /4096 characters long at most/);
});

test('LIKE does not backtrack: the worst patterns on 32 KB of text are cheap', () => {
  const input = inputOf({ x: string(FULL), y: string(`${FULL.slice(1)}b`) });
  withinSeconds(5, () => {
    const length = LENGTH - 10;
    assert.equal(resultOf(`x LIKE '${repeated('%a', '%b', length)}'`, input), 'false');
    assert.equal(resultOf(`x LIKE '${repeated('%a', '%', length)}'`, input), 'true');
    assert.equal(resultOf(`x LIKE '${repeated('%_a', '%b%', length)}'`, input), 'false');
    assert.equal(resultOf(`x LIKE '%${repeated('a', 'b%', length)}'`, input), 'false');
    assert.equal(resultOf(`x LIKE '%b${repeated('a', '%', length)}'`, input), 'false');
    assert.equal(resultOf(`x LIKE '%${repeated('_a', 'b%', length)}'`, input), 'false');
    assert.equal(resultOf(`x LIKE '%${repeated('_', '%', length)}'`, input), 'true');
    assert.equal(resultOf(`y LIKE '%${repeated('a', '%b', length)}'`, input), 'true');
  });
});

test('a long pattern from a property is not searched in a long text', () => {
  const pattern = `%${'_a'.repeat(510)}b%`;
  const input = inputOf({ x: string(FULL), p: string(pattern), q: string(FULL) });
  assert.equal(resultOf('x LIKE p', input), 'error');
  assert.equal(resultOf(`x LIKE '${pattern.slice(0, 1000)}b%'`, input), 'false');
  assert.equal(resultOf('x LIKE q', input), 'error');
});

test('32 doublings of a text stop at the size of a property', () => {
  const action = { expression: 'SET a=a+a;'.repeat(32), parameters: {} };
  const input = inputOf({ a: string('x'.repeat(100)) });
  assert.throws(
    () => applyAction(action, input, countingRandom()),
    /32768 characters long at most/,
  );
});

test('decimals of the most distant exponents add and divide in bounded time', () => {
  const huge = encodeDecimal({ coefficient: 10n ** 33n, exponent: 6111 });
  const tiny = encodeDecimal({ coefficient: 1n, exponent: -6176 });
  assert.ok(huge !== undefined && tiny !== undefined);
  assert.deepEqual(decodeDecimal(tiny), { coefficient: 1n, exponent: -6176 });
  const input = inputOf({
    h: { type: 'decimal', value: huge },
    t: { type: 'decimal', value: tiny },
  });
  withinSeconds(5, () => {
    assert.equal(resultOf(repeated('h%t<t OR ', 'h<t'), input), 'true');
    assert.equal(resultOf(repeated('h+t=t OR ', 'h<t'), input), 'false');
    assert.equal(resultOf('h / t > 1', input), 'error');
    assert.equal(resultOf('h * 10 > 1', input), 'error');
    assert.equal(resultOf('t / h < 1', input), 'true');
  });
});

test('the cache of compiled texts is bounded by their length, and drops the least recently used', () => {
  const cache = new SourceCache<number>(100);
  let made = 0;
  const get = (text: string): number => cache.get(text, () => (made += 1));
  for (let index = 0; index < 50; index += 1) {
    get('kept kept!');
    get(`${index}`.padStart(20, '.'));
    assert.ok(cache.characters <= 100);
  }
  assert.equal(get('kept kept!'), 1);
  assert.equal(made, 51);
  get('x'.repeat(200));
  assert.equal(cache.characters, 0);
});

test('a filter is compiled once, and a text with an error every time', () => {
  assert.equal(compileFilter('cached = 1'), compileFilter('cached = 1'));
  for (let round = 0; round < 2; round += 1) assert.throws(() => compileFilter('a ='), FilterError);
});
