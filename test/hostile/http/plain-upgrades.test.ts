import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { rawHttp, requestText } from '../../support/http-conversation.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';

/** The header fields that Java's HTTP client sends with every unencrypted request. */
const H2C = {
  Connection: 'Upgrade, HTTP2-Settings',
  Upgrade: 'h2c',
  'HTTP2-Settings': 'AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
};
const CHUNKED = { 'Transfer-Encoding': 'chunked' };
const HEALTH = requestText('GET /$health', H2C);

test('row 17: a request that asks for h2c is answered', async (t) => {
  const { port } = await start(t);
  const { statuses, text } = await rawHttp(port, [HEALTH]);
  assert.deepEqual(statuses, [200]);
  assert.match(text, /healthy/);
});

test('row 17: bodies of requests that ask for h2c arrive, by length and in chunks', async (t) => {
  const { port, authorization, received } = await start(t);
  const fields = { ...H2C, Authorization: authorization };
  const { statuses } = await rawHttp(port, [
    requestText('POST /q/messages', fields, 'by length'),
    `${requestText('POST /q/messages', { ...fields, ...CHUNKED })}3\r\nin \r\n6\r\nchunks\r\n0\r\n\r\n`,
    requestText('POST /q/messages', { Authorization: authorization }, 'without a wish'),
  ]);
  assert.deepEqual(statuses, [201, 201, 201]);
  assert.deepEqual(await received(3), ['by length', 'in chunks', 'without a wish']);
});

test('row 17: a body that is sent after the head of its request arrives', async (t) => {
  const { port, authorization, received } = await start(t);
  const fields = { ...H2C, Authorization: authorization, Expect: '100-continue' };
  const whole = requestText('POST /q/messages', fields, 'later');
  const { statuses } = await rawHttp(port, [whole.slice(0, -5), whole.slice(-5)]);
  assert.deepEqual(statuses, [100, 201]);
  assert.deepEqual(await received(1), ['later']);
});

test('row 17: requests that are sent without waiting are all answered, in their order', async (t) => {
  const { port, authorization, received } = await start(t);
  const fields = { ...H2C, Authorization: authorization };
  const burst = [
    // Without an order, this one would be answered after the next ones.
    requestText('DELETE /q/messages/head?timeout=1', { Authorization: authorization }),
    HEALTH,
    requestText('POST /q/messages', fields, 'first'),
    requestText('GET /elsewhere', { ...H2C, Authorization: authorization }),
    requestText('POST /q/messages', { ...fields, ...CHUNKED }),
    '6\r\nsecond\r\n0\r\n\r\n',
    requestText('GET /$health'),
  ];
  const { statuses } = await rawHttp(port, [burst.join('')], 6);
  assert.deepEqual(statuses, [204, 200, 201, 404, 201, 200]);
  assert.deepEqual(await received(2), ['first', 'second']);
});

test('row 17: an upgrade to an unknown protocol is ignored, and one to WebSocket works at its path', async (t) => {
  const { port } = await start(t);
  const webSocket = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  const { statuses } = await rawHttp(port, [
    requestText('GET /$health', { Connection: 'upgrade', Upgrade: 'foo/2' }),
    // As any GET of a path without an operation.
    requestText('GET /$servicebus/websocket', { ...webSocket, Upgrade: 'h2c' }),
    requestText('GET /$servicebus/websocket', webSocket),
  ]);
  assert.deepEqual(statuses, [200, 400, 101]);
  const elsewhere = await rawHttp(port, [requestText('GET /$health', webSocket)]);
  assert.deepEqual(elsewhere.statuses, [404]);
});

test('row 17: one connection may ask for h2c any number of times', async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const { port } = await start(t);
  const { statuses } = await rawHttp(
    port,
    Array.from({ length: 30 }, () => HEALTH),
  );
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.deepEqual(warnings, []);
});

test('row 17: a request with too many header fields is refused', async (t) => {
  const { port } = await start(t);
  const fields = Object.fromEntries(Array.from({ length: 2100 }, (_, i) => [`x${i}`, '']));
  const body = requestText('POST /q/messages', { ...H2C, ...fields }, 'GET / HTTP/1.1\r\n\r\n');
  const { statuses } = await rawHttp(port, [body], 2);
  assert.deepEqual(statuses, [431]);
});

async function start(t: TestContext) {
  const broker = await startBroker(t);
  await broker.createQueue('q');
  const url = new URL(broker.api.url);
  const authorization = createSasToken({
    audience: broker.api.url,
    keyName: 'RootManageSharedAccessKey',
    key: ROOT_KEY,
    expiresAt: Date.UTC(9999, 0, 1),
  });
  const received = async (count: number) => {
    const bodies: string[] = [];
    for (let i = 0; i < count; i++) {
      const answer = await broker.api.request('DELETE', 'q/messages/head?timeout=0');
      assert.equal(answer.status, 200);
      bodies.push(answer.text);
    }
    return bodies;
  };
  return { port: Number(url.port), authorization, received };
}
