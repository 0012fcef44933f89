import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROUTES } from '../../lambdas/http/route-table.ts';
import { createSasToken } from '../../lambdas/http/sas-token.ts';
import type { AccessRight } from '../../shared/domain/descriptions.ts';
import { FAKE_NOW } from '../support/fake-broker.ts';
import { rule, startApp } from '../support/http-fixture.ts';

test('names are unique, and so are method and path together', () => {
  const rows: readonly (readonly string[])[] = [
    ROUTES.map(({ name }) => name),
    ROUTES.map(({ method, path }) => `${method} ${path}`),
  ];
  for (const row of rows) assert.equal(new Set(row).size, row.length);
});

const RIGHTS: readonly AccessRight[] = ['Send', 'Listen', 'Manage'];

function addressOf(path: string): string {
  return `http://localhost${path.replace('{entity}', 'q').replaceAll(/\{\w+\}/g, 'x')}`;
}

/** What a call without a body is answered, by a token with just these rights. */
async function statusWith(rights: readonly AccessRight[], method: string, url: string) {
  const authorization = createSasToken({
    audience: 'localhost',
    keyName: 'some',
    key: 'some-primary',
    expiresAt: FAKE_NOW + 1000,
  });
  const { app } = startApp({ namespaceKeys: { rules: async () => [rule('some', ...rights)] } });
  return (await app.request(url, { method, headers: { authorization } })).status;
}

for (const { name, method, path, right } of ROUTES) {
  test(`${name} is served, and asks for a token only where the table says so`, async () => {
    const response = await startApp().app.request(addressOf(path), { method });
    assert.equal(response.status, right === 'none' ? 200 : 401);
  });

  if (right === 'none') continue;
  test(`${name} needs the right to ${right}, and no other`, async () => {
    const others = RIGHTS.filter((one) => one !== right);
    assert.equal(await statusWith(others, method, addressOf(path)), 401);
    assert.notEqual(await statusWith([right], method, addressOf(path)), 401);
  });
}
