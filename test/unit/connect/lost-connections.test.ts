import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type HttpRequest, httpCall } from '../../../client/http-call.ts';

/** A request ends, whatever becomes of its connection. */

const TIMEOUT_MS = 300;
/** Connections that a client uses at once. */
const CONNECTIONS = 64;

/** A server that does something with each connection once a request has come. */
async function serve(t: TestContext, asked: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => asked(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return (more: Partial<HttpRequest> = {}) =>
    httpCall({ method: 'GET', url, headers: {}, timeoutMs: 60_000, bytesMax: 1_000, ...more });
}

test('a request fails whose answer is the begin of another protocol', {
  timeout: 20_000,
}, async (t) => {
  const call = await serve(t, (socket) =>
    socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
  );
  await assert.rejects(call(), { code: 'ECONNRESET' });
});

test('a request fails whose connection ends without an answer', { timeout: 20_000 }, async (t) => {
  const call = await serve(t, (socket) => socket.end());
  await assert.rejects(call(), { code: 'ECONNRESET' });
});

test('a request whose answer stops on its way fails when its time is over', {
  timeout: 20_000,
}, async (t) => {
  const call = await serve(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'),
  );
  await assert.rejects(call({ timeoutMs: TIMEOUT_MS }), { code: 'ETIMEDOUT' });
});

test('a request that waits for a free connection fails when its time is over', {
  timeout: 20_000,
}, async (t) => {
  const call = await serve(t, () => {});
  const stops = Array.from({ length: CONNECTIONS }, () => new AbortController());
  const others = Promise.allSettled(stops.map(({ signal }) => call({ signal })));
  await assert.rejects(call({ timeoutMs: TIMEOUT_MS }), { code: 'ETIMEDOUT' });
  for (const stop of stops) stop.abort();
  await others;
});

test('a request that is called off closes its connection', { timeout: 20_000 }, async (t) => {
  const stop = new AbortController();
  let closed: Promise<unknown> | undefined;
  const call = await serve(t, (socket) => {
    closed = once(socket, 'close');
    stop.abort();
  });
  await assert.rejects(call({ signal: stop.signal }), { code: 'ABORT_ERR' });
  assert.ok(closed);
  await closed;
});

test('a request that was called off before is not sent', { timeout: 20_000 }, async (t) => {
  let requests = 0;
  const call = await serve(t, () => requests++);
  await assert.rejects(call({ signal: AbortSignal.abort() }), { code: 'ABORT_ERR' });
  assert.equal(requests, 0);
});
