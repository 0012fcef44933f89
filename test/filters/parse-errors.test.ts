import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilterError } from '../../shared/filters/filter-error.ts';
import { parseAction, parsePredicate } from '../../shared/filters/language/parse.ts';

type Row = readonly [text: string, position: number, reason: string | RegExp];

const FILTER_ROWS: readonly Row[] = [
  // Empty or incomplete.
  ['', 0, 'expected a value or a condition, found the end of the text.'],
  ['   ', 3, 'expected a value or a condition, found the end of the text.'],
  ['a =', 3, 'expected a value or a condition, found the end of the text.'],
  ['a = 1 AND', 9, 'expected a value or a condition, found the end of the text.'],
  ['NOT', 3, 'expected a value or a condition, found the end of the text.'],
  ['(a = 1', 6, "expected ')', found the end of the text."],
  ['= 1', 0, "expected a value or a condition, found '='."],
  ['()', 1, "expected a value or a condition, found ')'."],
  // A value is no condition.
  ['1', 1, /^expected a comparison, found the end of the text; a value is no condition/],
  ['flag', 4, /^expected a comparison, found the end of the text/],
  ['TRUE', 4, /^expected a comparison/],
  ['(flag)', 6, /^expected a comparison/],
  ['a + b', 5, /^expected a comparison/],
  ["'a'", 3, /^expected a comparison/],
  ['flag AND a = 1', 5, /^the left side of AND must be a condition, not a value/],
  ['a = 1 OR flag', 6, /^the right side of OR must be a condition, not a value/],
  ['NOT flag', 0, /^what NOT turns round must be a condition/],
  // A condition is no value.
  ['a = b = c', 6, 'the left side of = must be a value, not a condition.'],
  ['1 < a < 3', 6, 'the left side of < must be a value, not a condition.'],
  ['(a = 1) = TRUE', 8, 'the left side of = must be a value, not a condition.'],
  ['a = (b = 1)', 2, 'the right side of = must be a value, not a condition.'],
  ['a = NOT b = 1', 2, 'the right side of = must be a value, not a condition.'],
  ['(a = 1) + 1 = 2', 8, 'the left side of + must be a value, not a condition.'],
  ['-(a = 1) = 1', 0, "what '-' stands before must be a value, not a condition."],
  ['(a = 1) IN (1)', 8, 'the left side of IN must be a value, not a condition.'],
  ['a IN ((b = 1))', 6, 'an element of IN must be a value, not a condition.'],
  ["(a = 1) LIKE 'x'", 8, 'the left side of LIKE must be a value, not a condition.'],
  // Tokens that are left over or misplaced.
  ['a = 1 b', 6, "expected AND, OR or the end of the text, found 'b'."],
  ['a = 1)', 5, "expected AND, OR or the end of the text, found ')'."],
  ['a = 1;', 5, "expected AND, OR or the end of the text, found ';'."],
  ['a 1', 2, /^expected a comparison, found '1'/],
  ['a == 1', 3, "expected a value or a condition, found '='."],
  ['a => 1', 3, "expected a value or a condition, found '>'."],
  ['AND = 1', 0, /^expected a value or a condition, found the reserved word 'AND'; .*\[AND\]/],
  ['a = like', 4, /reserved word 'like'/],
  ['a BETWEEN 1 AND 2', 2, 'BETWEEN is not part of the language; write x >= 1 AND x <= 2.'],
  ['a NOT BETWEEN 1 AND 2', 6, "expected IN or LIKE after NOT, found 'BETWEEN'."],
  ['a NOT = 1', 6, "expected IN or LIKE after NOT, found '='."],
  // IS, IN, EXISTS, LIKE.
  ['a IS 1', 5, "expected NULL or NOT NULL, found '1'."],
  ['a IS NOT 1', 9, "expected NULL, found '1'."],
  ['1 IS NULL', 2, 'IS NULL can only be asked of a property.'],
  ['a + b IS NULL', 6, 'IS NULL can only be asked of a property.'],
  ['@p IS NULL', 3, 'IS NULL can only be asked of a property.'],
  ['a IN ()', 6, "expected a value or a condition, found ')'."],
  ['a IN 1', 5, "expected '(', found '1'."],
  ['a IN (1 2)', 8, "expected ')', found '2'."],
  ['a IN (1,)', 8, "expected a value or a condition, found ')'."],
  ['EXISTS a', 7, "expected '(', found 'a'."],
  ['EXISTS()', 7, "expected a value or a condition, found ')'."],
  ['EXISTS(1)', 7, "EXISTS takes the name of a property, not '1'."],
  ['EXISTS(@p)', 7, "EXISTS takes the name of a property, not '@p'."],
  ['EXISTS(a = 1)', 9, "expected ')', found '='."],
  ["EXISTS('a')", 7, "EXISTS takes the name of a property, not the string 'a'."],
  ["a LIKE 'x' ESCAPE", 17, 'expected a value or a condition, found the end of the text.'],
  // Names, scopes, functions.
  ['foo.bar = 1', 0, /^'foo' is no scope; the scopes are sys and user/],
  ['sys. = 1', 5, "expected the name of a property, found '='."],
  ["sys.'Label' = 1", 4, "expected the name of a property, found the string 'Label'."],
  ['sys.Null = 1', 4, /reserved word 'Null'/],
  ['lower(a) = 1', 0, /^there is no function 'lower'; the functions are/],
  ['newid(1) = 1', 6, "expected ')', found '1'."],
  ['property() = 1', 9, "expected a value or a condition, found ')'."],
  ['p((a = 1)) = 1', 2, 'the name of a property must be a value.'],
  ['_a = 1', 0, "unexpected character '_': a name starts with a letter; delimit others with [ ]."],
  ['[] = 1', 0, 'a name must have at least one character.'],
  ['"" = 1', 0, 'a name must have at least one character.'],
  // Strings, numbers, unexpected characters.
  ["a = 'x", 4, "this string has no closing '"],
  ["a = 'x''", 4, "this string has no closing '"],
  ['[a = 1', 0, 'this name has no closing ]'],
  ['"a = 1', 0, 'this name has no closing "'],
  ['a = 1x', 4, /^'1' must not be followed by 'x'/],
  ['a = 1.', 4, /^'1' must not be followed by '.'/],
  ['a = .5', 4, "expected a value or a condition, found '.'."],
  ['a = 1.2.3', 4, /^'1.2' must not be followed by '.'/],
  ['a = 9223372036854775808', 4, "the integer '9223372036854775808' does not fit in 64 bits."],
  ['a = -9223372036854775809', 5, "the integer '9223372036854775809' does not fit in 64 bits."],
  ['a = 1E999', 4, 'the number 1E999 is too large for a double.'],
  ['a = @', 4, "unexpected character '@': a parameter is written @name."],
  ['a ! 1', 2, "unexpected character '!': write != or NOT."],
  ['a = 1 && b = 2', 6, "unexpected character '&'."],
  ['a = `x`', 4, "unexpected character '`'."],
  ['a = 😀', 4, "unexpected character '😀'."],
  // Depth.
  [`${'('.repeat(100)}a = 1${')'.repeat(100)}`, 100, /100 levels deep at most/],
  [`${'NOT '.repeat(101)}a = 1`, 400, /100 levels deep at most/],
  [`a = ${'-'.repeat(101)}1`, 103, /100 levels deep at most/],
];

const ACTION_ROWS: readonly Row[] = [
  ['', 0, 'expected SET or REMOVE, found the end of the text.'],
  [';', 0, "expected SET or REMOVE, found ';'."],
  ['SET', 3, 'expected a value or a condition, found the end of the text.'],
  ['SET a', 5, "expected '=', found the end of the text."],
  ['SET a = ', 8, 'expected a value or a condition, found the end of the text.'],
  ['SET 1 = 2', 4, "expected the name of a property, found '1'."],
  ["SET p('a') = 2", 4, "expected the name of a property, found 'p'."],
  ['SET a = b = 1', 10, "expected ';', SET, REMOVE or the end of the text, found '='."],
  ['SET a = 1, b = 2', 9, "expected ';', SET, REMOVE or the end of the text, found ','."],
  ['SET a = 1;; SET b = 2', 10, "expected SET or REMOVE, found ';'."],
  ['SET a = (b = 1)', 8, 'what SET assigns must be a value, not a condition.'],
  ['SET a = NOT b = 1', 8, 'what SET assigns must be a value, not a condition.'],
  ['REMOVE', 6, 'expected a value or a condition, found the end of the text.'],
  ['REMOVE a, b', 8, "expected ';', SET, REMOVE or the end of the text, found ','."],
  ['DELETE a', 0, "expected SET or REMOVE, found 'DELETE'."],
  ['a = 1', 0, "expected SET or REMOVE, found 'a'."],
  ['SET a = 1 AND b = 2', 10, "expected ';', SET, REMOVE or the end of the text, found 'AND'."],
  ['REMOVE a;'.repeat(33), 288, 'an action may have 32 statements at most.'],
];

function errorOf(parse: (text: string) => unknown, text: string): FilterError {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
  return assert.fail(`parsed: ${text}`);
}

function checkRow(parse: (text: string) => unknown, [text, position, reason]: Row): void {
  const error = errorOf(parse, text);
  assert.deepEqual([text, error.position], [text, position], error.message);
  if (typeof reason === 'string') assert.equal(error.reason, reason);
  else assert.match(error.reason, reason);
  assert.equal(error.typeName, 'FilterException');
}

for (const row of FILTER_ROWS) {
  test(`invalid filter: ${row[0].slice(0, 60)}`, () => checkRow(parsePredicate, row));
}

for (const row of ACTION_ROWS) {
  test(`invalid action: ${row[0].slice(0, 60)}`, () => checkRow(parseAction, row));
}

test('an error names line and column, counted from 1', () => {
  const error = errorOf(parsePredicate, 'a = 1\nAND b =\n  = 2');
  assert.deepEqual([error.line, error.column, error.position], [3, 3, 16]);
  assert.match(error.message, /^Line 3, column 3: expected a value or a condition, found '='\.$/);
});

test('99 levels of parentheses are accepted', () => {
  assert.equal(parsePredicate(`${'('.repeat(98)}a = 1${')'.repeat(98)}`).kind, 'comparison');
});
