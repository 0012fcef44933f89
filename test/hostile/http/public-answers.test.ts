import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { AmqpServer } from '../../../amqp/service/amqp-server.ts';
import { LimitedApp } from '../../../gateway/request-limits.ts';
import { startServer } from '../../../local/server.ts';
import { noteClientAddress } from '../../../server/client-address.ts';
import type { WebApp } from '../../../server/server.ts';
import { UnauthorizedConnections } from '../../../server/unauthorized-connections.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { noteAuthorized } from '../../../shared/domain/budgets/authorized-requests.ts';
import { rawHttp, requestText } from '../../support/http-conversation.ts';
import { httpDependencies, ROOT_TOKEN, startApp } from '../../support/http-fixture.ts';

/** Row 26: public answers do not authorize a connection, and use up nothing of authorized clients. */

const PUBLIC = ['/health', '/$health', '/$openapi.json'];
const HONEST = { authorization: ROOT_TOKEN };

/** A server, and how many of its connections have become authorized. */
async function serve(t: TestContext, app: WebApp) {
  const dependencies = httpDependencies();
  const gateway = new AmqpServer({
    ...dependencies,
    rules: undefined as never,
    scheduler: realScheduler,
    reportFault: assert.fail,
  });
  const { memory } = dependencies;
  const server = await startServer({ app, memory, amqp: gateway, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const deleted = t.mock.method(UnauthorizedConnections.prototype, 'delete').mock;
  // The server removes each connection from its list and adds it again once its protocol is known.
  const authorized = () =>
    deleted.callCount() - new Set(deleted.calls.map(({ arguments: [socket] }) => socket)).size;
  return { port: server.port, authorized };
}

test('row 26: a connection is authorized by its first token with a valid signature, and not before', async (t) => {
  const { port, authorized } = await serve(t, startApp().app);
  const unauthorized = [
    ...PUBLIC.map((path) => requestText(`GET ${path}`)),
    requestText('GET /health', HONEST),
    requestText('POST /q/messages', {}, 'x'),
    requestText('POST /nothing', HONEST, 'x'),
  ];
  const { statuses } = await rawHttp(port, unauthorized);
  assert.deepEqual(statuses, [200, 200, 200, 200, 401, 405]);
  assert.equal(authorized(), 0);
  // An error response authorizes the connection as well.
  for (const path of ['q', 'missing']) {
    await rawHttp(port, [requestText(`POST /${path}/messages`, HONEST, 'x')]);
  }
  assert.equal(authorized(), 2);
});

test('row 26: a connection is authorized as soon as one of its requests is, before the answer', async (t) => {
  const requests = new EventEmitter();
  const fetch = async (request: Request): Promise<Response> => {
    requests.emit('asked', request);
    const [answer] = await once(requests, 'answer');
    return answer;
  };
  const { port, authorized } = await serve(t, { fetch });
  const asked = once(requests, 'asked');
  const heard = rawHttp(port, [requestText('DELETE /q/messages/head?timeout=60', HONEST)]);
  const [request] = await asked;
  assert.equal(authorized(), 0);
  noteAuthorized(request);
  assert.equal(authorized(), 1);
  requests.emit('answer', new Response(null, { status: 204 }));
  assert.deepEqual((await heard).statuses, [204]);
});

test('row 26: public answers use up nothing of the rate of authorized requests', async () => {
  const { app } = startApp();
  const rate = { perSecond: 0, burst: 3 };
  const limits = { requests: rate, requestsOfAddress: { perSecond: 0, burst: 100 } };
  const limited = new LimitedApp(app, httpDependencies(), limits, () => 0);
  const ask = async (address: string, path: string, init: RequestInit = {}) => {
    const socket = new PassThrough();
    noteClientAddress(socket, address);
    const request = new Request(`http://localhost${path}`, init);
    return (await limited.fetch(request, { incoming: { socket } })).status;
  };
  for (const path of PUBLIC) {
    for (let i = 0; i <= rate.burst; i++) assert.equal(await ask('203.0.113.1', path), 200);
  }
  const send = () =>
    ask('198.51.100.7', '/q/messages', { method: 'POST', headers: HONEST, body: 'x' });
  for (let i = 0; i < rate.burst; i++) assert.equal(await send(), 201);
  assert.equal(await send(), 503);
});
