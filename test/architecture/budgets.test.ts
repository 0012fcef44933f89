import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';

/** The lines of the table in docs/security.md, without the spaces that only align it. */
function rowsOf(budgets: object, path = ''): readonly string[] {
  return Object.entries(budgets).flatMap(([name, value]) =>
    typeof value === 'number'
      ? [`| \`${path}${name}\` | ${value.toLocaleString('en-US')} |`]
      : rowsOf(value, `${path}${name}.`),
  );
}

test('the page on security lists every budget with its value', () => {
  const page = readFileSync('docs/security.md', 'utf8').replaceAll(/ +/g, ' ');
  const [, table = ''] = page.split('## All budgets');
  const listed = table.split('\n').filter((line) => line.startsWith('| `'));
  assert.deepEqual(listed, rowsOf(BUDGETS));
});
