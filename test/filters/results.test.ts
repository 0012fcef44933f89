import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePredicate } from '../../shared/filters/language/parse.ts';
import { LOGIC_GROUPS } from './rows-logic.ts';
import { NAME_GROUPS } from './rows-names.ts';
import { VALUE_GROUPS } from './rows-values.ts';
import { resultOf } from './support.ts';

const GROUPS = [...LOGIC_GROUPS, ...VALUE_GROUPS, ...NAME_GROUPS];

for (const { feature, input, parameters, rows } of GROUPS) {
  test(`results: ${feature}`, () => {
    // An error in this table must come from evaluation, so every text must parse.
    for (const [expression] of rows) parsePredicate(expression);
    const wrong = rows
      .map(([expression, expected]) => ({
        expression,
        expected,
        found: resultOf(expression, input, parameters),
      }))
      .filter(({ expected, found }) => expected !== found);
    assert.deepEqual(wrong, []);
  });
}

test('the table has at least 280 rows, and no expression twice in one group', () => {
  assert.ok(GROUPS.reduce((sum, { rows }) => sum + rows.length, 0) >= 280);
  for (const { rows } of GROUPS)
    assert.equal(new Set(rows.map(([text]) => text)).size, rows.length);
});
