import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { rawHttp, requestText } from '../support/http-conversation.ts';
import { sharedNamespaceCli } from './cli.ts';

/** CORS: the requests of a browser when a page of another origin uses the local server. */

const ALLOWED = 'http://localhost:3000';
const ENTRY =
  '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';
const namespace = sharedNamespaceCli({
  args: ['--engine', 'dynoxide', '--allowed-origin', ALLOWED],
});
const REQUESTED_HEADERS = 'authorization,brokerproperties,content-type,my-property';

test('row 14: a page of an allowed origin may send requests and read every response header', async () => {
  const { ask, authorization } = await start();
  for (const method of ['PUT', 'POST', 'DELETE', 'GET']) {
    const answer = await ask(`OPTIONS /q`, {
      Origin: ALLOWED,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': REQUESTED_HEADERS,
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.header('access-control-allow-origin'), ALLOWED);
    assert.ok(listOf(answer.header('access-control-allow-methods')).includes(method));
    assert.deepEqual(
      listOf(answer.header('access-control-allow-headers')),
      REQUESTED_HEADERS.split(','),
    );
    assert.ok(listOf(answer.header('vary')).includes('Origin'));
  }
  const own = { ...authorization, Origin: ALLOWED };
  assert.equal((await ask('PUT /q', own, ENTRY)).status, 201);
  const sent = { ...own, BrokerProperties: '{"MessageId":"1"}', 'My-Property': '"mine"' };
  assert.equal((await ask('POST /q/messages', sent, 'm')).status, 201);
  const received = await ask('POST /q/messages/head', own);
  assert.equal(received.status, 201);
  assert.equal(received.header('access-control-allow-origin'), ALLOWED);
  assert.ok(listOf(received.header('vary')).includes('Origin'));
  const exposed = listOf(received.header('access-control-expose-headers'));
  for (const name of ['brokerproperties', 'location', 'content-type', 'my-property']) {
    assert.ok(received.header(name) !== undefined, name);
    assert.ok(exposed.includes(name), name);
  }
  const refused = await ask('GET /q', { Origin: ALLOWED });
  assert.equal(refused.status, 401);
  assert.equal(refused.header('access-control-allow-origin'), ALLOWED);
  const time = await ask('GET /$clock', { Origin: ALLOWED });
  assert.equal(time.status, 200);
  assert.equal(time.header('access-control-allow-origin'), ALLOWED);
});

test('row 14: one allowed origin allows no other, and no response allows all origins', async () => {
  const { ask, authorization, own } = await start();
  const preflight = { 'Access-Control-Request-Method': 'PUT' };
  const statuses: number[] = [];
  for (const fields of [
    { Origin: 'http://localhost:3001' },
    { Origin: 'http://evil.example' },
    { Origin: 'null' },
    { Origin: own },
    {},
  ]) {
    for (const line of ['OPTIONS /none', 'GET /$health', 'GET /none']) {
      const answer = await ask(line, { ...authorization, ...fields, ...preflight });
      statuses.push(answer.status);
      assert.doesNotMatch(answer.text, /access-control-/i, JSON.stringify(fields));
    }
  }
  assert.deepEqual(statuses.slice(0, 9), Array(9).fill(403));
  assert.deepEqual(statuses.slice(9, 12), [405, 200, 404]);
});

test('row 14: a page of an allowed origin may open a WebSocket', async () => {
  const { ask } = await start();
  const webSocket = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  const open = async (origin: string) =>
    (await ask('GET /$servicebus/websocket', { ...webSocket, Origin: origin })).status;
  assert.equal(await open(ALLOWED), 101);
  assert.equal(await open('http://localhost:3001'), 403);
});

/** A server that allows one origin. `ask` sends it one request. */
async function start() {
  const { url } = await namespace();
  const port = Number(new URL(url).port);
  const authorization = {
    Authorization: createSasToken({
      audience: url,
      keyName: 'RootManageSharedAccessKey',
      key: 'SAS_KEY_VALUE',
      expiresAt: Date.UTC(9999, 11, 31),
    }),
  };
  const ask = async (line: string, fields: Readonly<Record<string, string>>, body?: string) => {
    const all = { Host: `localhost:${port}`, ...fields };
    const { statuses, text } = await rawHttp(port, [requestText(line, all, body)]);
    const header = (name: string) => new RegExp(`^${name}: (.*)\\r$`, 'im').exec(text)?.[1];
    return { status: statuses[0] ?? 0, text, header };
  };
  return { ask, authorization, own: url };
}

function listOf(value: string | undefined): readonly string[] {
  return value?.split(',').map((each) => each.trim()) ?? [];
}
