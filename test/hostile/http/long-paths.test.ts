import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { TrieRouter } from 'hono/router/trie-router';
import { httpHandler } from '../../../lambdas/http/lambda.ts';
import { receiveRoutes } from '../../../lambdas/http/routes/receive.ts';
import { combineRoutes } from '../../../lambdas/http/routing/combine-routes.ts';
import { startServer } from '../../../local/server.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { rawHttp, requestText } from '../../support/http-conversation.ts';
import { httpDependencies, startApp } from '../../support/http-fixture.ts';

/** Row 24: paths for which the search for a route takes seconds, before the token is checked. */

const { pathLength, pathSegments } = BUDGETS.request;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];
const HOSTILE = {
  'many segments': `/${'a/'.repeat(7500)}messages/head`,
  'a segment too many': `/${'a/'.repeat(pathSegments - 2)}messages/head/x`,
  'many empty segments': `/${'/'.repeat(7500)}q`,
  'many characters': `/${'a'.repeat(pathLength)}`,
  'percent-encoded': `/${'%41'.repeat(5000)}/messages`,
};

/** Counts the searches of the router. */
const countSearches = (t: { readonly mock: typeof import('node:test').mock }) =>
  t.mock.method(TrieRouter.prototype, 'match').mock;

test('row 24: a path longer than every route is refused without a search', async (t) => {
  const search = countSearches(t);
  const { app } = startApp();
  for (const [what, path] of Object.entries(HOSTILE)) {
    for (const method of METHODS) {
      const response = await app.request(`http://localhost${path}`, { method });
      assert.equal(response.status, 400, `${method}, ${what}`);
      assert.equal(response.headers.get('x-dynabus-error'), 'ArgumentError');
      const text = await response.text();
      if (method !== 'HEAD')
        assert.match(text, /SubCode=40000\. The path is too long.*TrackingId/i);
    }
  }
  assert.equal(search.callCount(), 0);
});

test('row 24: a function refuses it as well', async (t) => {
  const search = countSearches(t);
  const dependencies = httpDependencies();
  const handle = httpHandler(
    combineRoutes(dependencies, receiveRoutes(dependencies)),
    async () => {},
    {},
  );
  for (const rawPath of Object.values(HOSTILE)) {
    const event = {
      rawPath,
      rawQueryString: '',
      headers: {},
      requestContext: { domainName: 'b.example', http: { method: 'POST' } },
    };
    const { statusCode } = await handle(event as unknown as APIGatewayProxyEventV2);
    assert.equal(statusCode, 400);
  }
  assert.equal(search.callCount(), 0);
});

test('row 24: a server refuses it as well, and serves the next request', async (t) => {
  const search = countSearches(t);
  const dependencies = httpDependencies();
  const { app } = startApp();
  const { memory } = dependencies;
  const server = await startServer({ app, memory, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const { statuses } = await rawHttp(server.port, [
    ...Object.values(HOSTILE).map((path) => requestText(`POST ${path}`, {}, '')),
    requestText('GET /$health'),
  ]);
  assert.deepEqual(statuses, [...Object.values(HOSTILE).map(() => 400), 200]);
  assert.equal(search.callCount(), 1);
});

test('row 24: the longest valid path is served, however it is encoded', async (t) => {
  const search = countSearches(t);
  const { call } = startApp();
  const encoded = (text: string) =>
    text.replaceAll(/[^/]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  const topic = encoded(`${'a/'.repeat(129)}aa`);
  const subscription = encoded('s'.repeat(50));
  const message = encodeURIComponent('\u2713'.repeat(128));
  const lock = '00000000-0000-0000-0000-000000000000';
  const path = `/${topic}/Subscriptions/${subscription}/%24Transfer/%24DeadLetterQueue/messages/${message}/${lock}`;
  assert.equal((await call('DELETE', path)).status, 410, 'there is no such subscription');
  assert.equal(search.callCount(), 1);
  // A name that is one character too long still gets its own error.
  const refused = await call('POST', `/${'a'.repeat(261)}/messages`);
  assert.match(await refused.text(), /is 261 characters long; the limit is 260/);
});
