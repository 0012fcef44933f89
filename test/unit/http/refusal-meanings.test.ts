import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { REFUSALS } from '../../../lambdas/http/openapi/components.ts';

/** Statuses and codes of requests that reach no operation. */
const NO_OPERATION = /^(?:RouteNotFound|MethodNotAllowed)$/;

const ROW = /^\| (?<status>\d{3}) +\| `(?<code>[A-Z]\w+)` +\| (?<meaning>.+?) +\|$/gm;

test('the contract describes each status by the codes and meanings of the table of errors', () => {
  const page = readFileSync('docs/http/errors.md', 'utf8').replaceAll(/\[(.+?)\]\(.+?\)/g, '$1');
  const rows = [...page.matchAll(ROW)].map(({ groups = {} }) => groups);
  assert.ok(rows.length > 20);
  for (const { status, code = '', meaning } of rows) {
    if (NO_OPERATION.test(code)) continue;
    const { description } = REFUSALS[`Refused${status}`] as { readonly description: string };
    assert.ok(description.includes(`${code}: ${meaning}.`), `${status} ${code}`);
  }
});

test('every code in the contract is one of the table of errors, with that status', () => {
  const page = readFileSync('docs/http/errors.md', 'utf8');
  for (const [name, refusal] of Object.entries(REFUSALS)) {
    const { description } = refusal as { readonly description: string };
    for (const [, prefix, code] of description.matchAll(/(In management, )?\b([A-Z]\w+): /g)) {
      const status = prefix === undefined ? name.slice(-3) : '410';
      assert.match(page, new RegExp(`^\\| ${status} +\\| \`${code}\``, 'm'));
    }
  }
});
