import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { rawHttp, requestText } from '../support/http-conversation.ts';
import { type Cli, sharedNamespaceCli, startCli, startNamespaceCli } from './cli.ts';

/** A web page in the browser of a developer who runs the local server. */

const KEY = 'SAS_KEY_VALUE';
const namespace = sharedNamespaceCli({ args: ['--engine', 'dynoxide'] });
const WEB_SOCKET = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const MOVE = '{"advanceSeconds":1}';
const JSON_BODY = { 'Content-Type': 'application/json' };

test('row 14: requests of a page with another origin or a rebound name are refused', async () => {
  const { port, ask } = await start();
  const own = `localhost:${port}`;
  const refused: Readonly<Record<string, string>>[] = [
    { Host: own, Origin: 'http://evil.example' },
    { Host: own, Origin: 'null' },
    { Host: own, Origin: `http://localhost:${port + 1}` },
    { Host: own, Origin: 'http://127.0.0.1' },
    { Host: `evil.example:${port}` },
    { Host: `evil.example:${port}`, Origin: `http://evil.example:${port}` },
    { Host: 'localhost.evil.example' },
    { Host: '127.0.0.1.evil.example' },
    { Host: '127.evil' },
    { Host: '0.0.0.0' },
    { Host: '192.0.2.1' },
  ];
  for (const fields of refused) {
    const what = JSON.stringify(fields);
    for (const request of [
      requestText('GET /$health', fields),
      requestText('DELETE /q/messages/head', { ...fields, Authorization: token(port) }),
      requestText('POST /$clock', { ...fields, ...JSON_BODY }, MOVE),
      requestText('GET /$servicebus/websocket', { ...fields, ...WEB_SOCKET }),
      requestText('GET /$health', { ...fields, ...WEB_SOCKET, Upgrade: 'h2c' }),
    ]) {
      const { statuses, text } = await ask(request);
      assert.deepEqual(statuses, [403], `${what}\n${request}\n${text}`);
      assert.match(
        text,
        /The local server does not serve .+ start (?:it|the server) with --allowed-/,
      );
    }
  }
});

test('row 14: a WebSocket without a Host is refused, as an HTTP request is', async () => {
  const { ask } = await start();
  const without = (request: string) => request.replace('Host: localhost\r\n', '');
  const upgrade = await ask(without(requestText('GET /$servicebus/websocket', WEB_SOCKET)));
  assert.deepEqual(upgrade.statuses, [403]);
  assert.match(upgrade.text, /has no Host header/);
  assert.deepEqual((await ask(without(requestText('GET /$health')))).statuses, [400]);
  const old = 'GET http://evil.example/$health HTTP/1.0\r\n\r\n';
  assert.deepEqual((await ask(old)).statuses, [403]);
});

test('row 14: all names of this machine, and pages of the server itself, are served', async () => {
  const { port, ask } = await start();
  const served: Readonly<Record<string, string>>[] = [
    {},
    { Host: 'localhost' },
    { Host: 'LocalHost.' },
    { Host: `bus.localhost:${port}` },
    { Host: `127.0.0.1:${port}` },
    { Host: '127.12.3.4' },
    { Host: `[::1]:${port}` },
    { Host: `localhost:${port}`, Origin: `http://localhost:${port}` },
    { Host: `localhost:${port}`, Origin: `https://localhost:${port}` },
  ];
  for (const fields of served) {
    const http = await ask(requestText('GET /$health', fields));
    assert.deepEqual(http.statuses, [200], JSON.stringify(fields));
    const upgrade = requestText('GET /$servicebus/websocket', { ...fields, ...WEB_SOCKET });
    assert.deepEqual((await ask(upgrade)).statuses, [101], JSON.stringify(fields));
  }
});

test('row 14: --allowed-host and --allowed-origin allow the names they list and no others', async (t) => {
  const hosts = ['bus', 'Other.example', 'dotted.example.'];
  const args = hosts.flatMap((host) => ['--allowed-host', host]);
  args.push('--engine', 'dynoxide', '--allowed-origin', 'http://localhost:3000');
  const { ask } = await withQueue(await startNamespaceCli(t, { args }));
  const statusOf = async (fields: Readonly<Record<string, string>>) =>
    (await ask(requestText('GET /$health', fields))).statuses[0];
  assert.equal(await statusOf({ Host: 'bus:5300' }), 200);
  assert.equal(await statusOf({ Host: 'other.example' }), 200);
  assert.equal(await statusOf({ Host: 'dotted.example' }), 200);
  assert.equal(await statusOf({ Host: 'Dotted.example.:5300' }), 200);
  assert.equal(await statusOf({ Origin: 'http://localhost:3000' }), 200);
  assert.equal(await statusOf({ Host: 'third.example' }), 403);
  assert.equal(await statusOf({ Origin: 'http://localhost:3001' }), 403);
});

for (const [option, value] of [
  ['--allowed-host', 'http://bus'],
  ['--allowed-host', 'bus:5300'],
  ['--allowed-host', '.'],
  ['--allowed-origin', 'bus'],
  ['--allowed-origin', 'http://bus/'],
] as const) {
  test(`row 14: ${option} ${value} is refused with a sentence`, async (t) => {
    const cli = startCli(t, { args: ['--port', '0', option, value] });
    assert.equal(await cli.ended, 2);
    assert.match(cli.errors(), new RegExp(`^${option} takes .+, not '${value}'\\.\\n$`));
  });
}

test('row 14: requests that a page of another site can send do not move the clock', async () => {
  const { ask } = await start();
  const statusOf = async (fields: Readonly<Record<string, string>>, body = MOVE) =>
    (await ask(requestText('POST /$clock', fields, body))).statuses[0];
  const before = await time(ask);
  assert.equal(await statusOf({}), 415);
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'text/plain;application/json',
  ])
    assert.equal(await statusOf({ 'Content-Type': type }), 415);
  assert.equal(await statusOf({ ...JSON_BODY, 'Sec-Fetch-Site': 'cross-site' }), 403);
  assert.equal(await statusOf(JSON_BODY, `${MOVE}${' '.repeat(2000)}`), 413);
  assert.ok((await time(ask)) - before < 1000);
  assert.equal(await statusOf({ 'Content-Type': 'application/json; charset=utf-8' }), 200);
});

test('row 15: the clock accepts whole milliseconds before the year 9999 only, and the server keeps working', async () => {
  const { ask, port } = await start();
  const statusOf = async (body: object) =>
    (await ask(requestText('POST /$clock', JSON_BODY, JSON.stringify(body)))).statuses[0];
  const authorization = { Authorization: token(port) };
  const worksOn = async () => {
    const { statuses } = await rawHttp(port, [
      requestText('POST /q/messages', authorization, 'm'),
      requestText('DELETE /q/messages/head?timeout=5', authorization),
    ]);
    assert.deepEqual(statuses, [201, 200]);
  };
  assert.equal(await statusOf({ advanceSeconds: 0.0005 }), 400);
  assert.equal(await statusOf({ advanceSeconds: 1e-9 }), 400);
  await worksOn();
  assert.equal(await statusOf({ advanceSeconds: 1.1 }), 200);
  await worksOn();
  assert.equal(await statusOf({ now: '+275760-09-13T00:00:00Z' }), 400);
  assert.equal(await statusOf({ advanceSeconds: 8e12 }), 400);
  assert.equal(await statusOf({ now: '9998-12-31T23:59:59Z' }), 200);
  await worksOn();
});

/** A server with a queue `q`, which all tests without options of their own share. `ask` sends it one request. */
function start() {
  shared ??= namespace().then(withQueue);
  return shared;
}

let shared: ReturnType<typeof withQueue> | undefined;

async function withQueue({ url }: Cli & { readonly url: string }) {
  const port = Number(new URL(url).port);
  const ask = (request: string) => rawHttp(port, [request]);
  const entry =
    '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';
  const { statuses } = await ask(requestText('PUT /q', { Authorization: token(port) }, entry));
  assert.deepEqual(statuses, [201]);
  return { port, ask };
}

type Ask = Awaited<ReturnType<typeof withQueue>>['ask'];

async function time(ask: Ask): Promise<number> {
  const { text } = await ask(requestText('GET /$clock'));
  return Date.parse(/"now":"([^"]+)"/.exec(text)?.[1] ?? '');
}

function token(port: number): string {
  return createSasToken({
    audience: `http://localhost:${port}`,
    keyName: 'RootManageSharedAccessKey',
    key: KEY,
    expiresAt: Date.UTC(9999, 11, 31),
  });
}
