import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROUTES } from '../../lambdas/http/route-table.ts';
import { startApp } from '../support/http-fixture.ts';

test('names are unique, and so are method and path together', () => {
  const rows: readonly (readonly string[])[] = [
    ROUTES.map(({ name }) => name),
    ROUTES.map(({ method, path }) => `${method} ${path}`),
  ];
  for (const row of rows) assert.equal(new Set(row).size, row.length);
});

for (const { name, method, path, right } of ROUTES) {
  test(`${name} is served, and asks for a token only where the table says so`, async () => {
    const address = path.replace('{entity}', 'q').replaceAll(/\{\w+\}/g, 'x');
    const response = await startApp().app.request(`http://localhost${address}`, { method });
    assert.equal(response.status, right === 'none' ? 200 : 401);
  });
}
