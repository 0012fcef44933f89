import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { manageRoutes } from '../../../lambdas/http/management/routes.ts';
import { openApiRoutes } from '../../../lambdas/http/openapi/routes.ts';
import { receiveRoutes } from '../../../lambdas/http/routes/receive.ts';
import { sendRoutes } from '../../../lambdas/http/routes/send.ts';
import { settleRoutes } from '../../../lambdas/http/routes/settle.ts';
import { transactionRoutes } from '../../../lambdas/http/routes/transactions.ts';
import { combineRoutes } from '../../../lambdas/http/routing/combine-routes.ts';
import { ROUTES, type Route } from '../../../lambdas/http/routing/route-table.ts';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import type { AccessRight } from '../../../shared/domain/entities/descriptions.ts';
import { FakeBroker } from '../../support/fake-broker.ts';
import { fakeManageDependencies } from '../../support/fake-entity-store.ts';
import { rule } from '../../support/http-fixture.ts';

const TABLE: readonly Route[] = ROUTES;

test('names are unique, and so are method and path together', () => {
  const rows: readonly (readonly string[])[] = [
    TABLE.map(({ name }) => name),
    TABLE.map(({ method, path }) => `${method} ${path}`),
  ];
  for (const row of rows) assert.equal(new Set(row).size, row.length);
});

const DOCS = new URL('../../../docs/', import.meta.url);
const PAGES = readdirSync(new URL('http/', DOCS)).map((file) => `http/${file}`);

/** The rows of a page's tables that name an operation: its rights, and the whole row. */
function rowsOf(page: string, { method, path }: Route) {
  const lines = readFileSync(new URL(page, DOCS), 'utf8').split('\n');
  return lines
    .filter((line) => line.startsWith('|'))
    .map((line) => line.replaceAll('{path}', '{entity}'))
    .filter((line) => line.includes(`\`${method} ${path}\``))
    .map((row) => ({ row, right: row.split('|')[2]?.trim() }));
}

test('a page of docs/http describes every operation, with its rights, and docs/http-api.md links to it', () => {
  for (const route of TABLE) {
    const name = `${route.method} ${route.path}`;
    const right = route.rights.length === 0 ? 'none' : route.rights.join(' or ');
    const described = PAGES.filter((page) => rowsOf(page, route).length > 0);
    assert.equal(described.length, 1, `${name} is on ${described.join(' and ') || 'no page'}`);
    const [page = ''] = described;
    const index = rowsOf('http-api.md', route);
    assert.equal(index.length, 1, `${name} in http-api.md`);
    assert.ok(index[0]?.row.includes(`](${page})`), `${name} links to ${page}`);
    for (const shown of [...index, ...rowsOf(page, route)]) assert.equal(shown.right, right, name);
  }
});

test('docs/http-api.md links to every page of docs/http, and each links back', () => {
  const index = readFileSync(new URL('http-api.md', DOCS), 'utf8');
  for (const page of PAGES) {
    assert.ok(index.includes(`](${page})`), page);
    assert.ok(readFileSync(new URL(page, DOCS), 'utf8').includes('](../http-api.md)'), page);
  }
});

const RIGHTS: readonly AccessRight[] = ['Send', 'Listen', 'Manage'];

/** Stores in memory; the rule `some` of the namespace has these rights. */
const dependenciesWith = (...rights: readonly AccessRight[]) => ({
  ...fakeManageDependencies({ keyName: 'root', key: 'root' }),
  broker: new FakeBroker(['q']),
  namespaceKeys: { rules: async () => [rule('some', ...rights)] },
});

/** The complete app over these stores. */
function startAll(...rights: readonly AccessRight[]) {
  const dependencies = dependenciesWith(...rights);
  const groups = [sendRoutes, receiveRoutes, settleRoutes, transactionRoutes].map((routes) =>
    routes(dependencies),
  );
  return combineRoutes(dependencies, ...groups, openApiRoutes(), manageRoutes(dependencies));
}

test('a request passes the two shared checks once, whatever its operation', () => {
  const { router } = startAll();
  for (const { method, path, kind, name } of TABLE) {
    const [matched] = router.match(method, new URL(addressOf(path)).pathname.toLowerCase());
    const shared = matched.filter(([[, { method: of }]]) => of === 'ALL');
    assert.equal(shared.length, 2, name);
    // Management takes every path, after the operation of that path.
    const others = ['GET', 'PUT', 'DELETE'].includes(method) && kind !== 'management' ? 2 : 1;
    assert.ok(matched.length <= shared.length + others, name);
  }
});

function addressOf(path: string): string {
  return `http://localhost${path.replace('{entity}', 'q').replaceAll(/\{\w+\}/g, 'x')}`;
}

/** The response to a request without a body, with a token that has exactly these rights. */
async function statusWith(rights: readonly AccessRight[], method: string, url: string) {
  const authorization = createSasToken({
    audience: 'localhost',
    keyName: 'some',
    key: 'some-primary',
    expiresAt: Date.now() + 60_000,
  });
  return (await startAll(...rights).request(url, { method, headers: { authorization } })).status;
}

for (const { name, method, path, rights } of TABLE) {
  test(`${name} is served, and requires a token only if the table says so`, async () => {
    const response = await startAll().request(addressOf(path), { method });
    assert.equal(response.status, rights.length === 0 ? 200 : 401);
  });

  for (const right of rights.length === 0 ? [] : RIGHTS) {
    const enough = rights.includes(right);
    test(`${name} is ${enough ? 'allowed' : 'refused'} with the right ${right}`, async () => {
      const status = await statusWith([right], method, addressOf(path));
      assert.equal(status !== 401, enough, `${status}`);
    });
  }
}

for (const { path } of TABLE.filter((one) => /messages\/(?:head|\$\w+)$|^\/\$\w+/.test(one.path))) {
  const methods = TABLE.filter((one) => one.path === path).map(({ method }) => method);
  if (path.startsWith('/$Resources') || path === '/$namespaceinfo') continue;
  test(`other methods than ${methods.join(' and ')} of ${path} are refused by name`, async () => {
    const app = startAll();
    for (const method of ['GET', 'PUT', 'DELETE', 'POST', 'PATCH']) {
      if (methods.some((one) => one === method)) continue;
      // The same for a name with the same beginning, with a dead-letter suffix, or in another case.
      for (const entity of ['q', 'a/messages/b', 'q/$deadletterqueue', 'Q']) {
        // Only paths that are read may end with a slash.
        const slash = method === 'GET' ? '/' : '';
        const address = `http://localhost${path.replace('{entity}', entity)}${slash}`;
        const response = await app.request(address, { method });
        assert.equal(response.status, 405, `${method} ${address}`);
        assert.equal(response.headers.get('allow'), methods.join(', '));
        assert.equal(response.headers.get('x-dynabus-error'), 'MethodNotAllowed');
      }
    }
  });
}

test('other methods on addresses of management are refused by name', async () => {
  const app = startAll();
  const rows: readonly (readonly [address: string, allow: string, ...methods: string[]])[] = [
    ['/', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    ['/$namespaceinfo', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    ['/$Resources/queues', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    ['/%24resources/Topics', 'GET', 'PUT', 'DELETE'],
    ['/a/t/subscriptions', 'GET', 'POST', 'PUT', 'DELETE'],
    ['/t/Subscriptions/s/rules', 'GET', 'POST', 'PUT', 'DELETE'],
    ['/a%2Ft/subscriptions/s/rules/x', 'GET, PUT, DELETE', 'POST', 'PATCH'],
    ['/t/subscriptions/s', 'GET, PUT, DELETE', 'POST', 'PATCH', 'OPTIONS'],
    ['/q1', 'GET, PUT, DELETE', 'POST', 'PATCH', 'OPTIONS'],
  ];
  for (const [address, allow, ...methods] of rows) {
    for (const method of methods) {
      const response = await app.request(`http://localhost${address}`, { method });
      assert.equal(response.status, 405, `${method} ${address}`);
      assert.equal(response.headers.get('allow'), allow, `${method} ${address}`);
    }
  }
});

test('an address that no entity can have has no methods', async () => {
  for (const address of [
    '/q/messages/$typo',
    '/q/messages/x',
    '/$typo',
    '/q/$deadletterqueue',
    '/%zz',
  ]) {
    const { status } = await startAll().request(`http://localhost${address}`, { method: 'POST' });
    assert.equal(status, 404, address);
  }
});

test('each function by itself refuses a path with an empty segment', async () => {
  for (const routes of [sendRoutes, receiveRoutes, settleRoutes, manageRoutes]) {
    const dependencies = dependenciesWith();
    const app = combineRoutes(dependencies, routes(dependencies));
    const answer = await app.request('http://localhost/q//messages', { method: 'POST' });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /empty segment/);
  }
  const management = startAll();
  for (const [method, path] of [
    ['GET', '/q//x'],
    ['PUT', '/q/'],
    ['DELETE', '/q/'],
  ] as const) {
    const answer = await management.request(`http://localhost${path}`, { method });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /A shell takes/);
  }
});

test('HEAD is accepted wherever GET is', async () => {
  const { status } = await startAll().request('http://localhost/$health', { method: 'HEAD' });
  assert.equal(status, 200);
});

test('a queue whose name only looks like an operation is a queue', async () => {
  for (const path of ['messages/head', 'q/messages', 'q/messages/header', 'health2']) {
    const response = await startAll().request(`http://localhost/${path}`, { method: 'PUT' });
    assert.equal(response.status, 401, path);
  }
});
