import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { startCli } from '../local/cli.ts';
import { rawHttp, requestText } from '../support/http-conversation.ts';
import type { Json } from '../support/json-management.ts';
import { startExplorer } from './fixture.ts';

/** What `dynabus explorer` passes on, and for whom: whoever is behind it has the rights of who has started it. */

const JSON_BODY = { 'Content-Type': 'application/json' };
/** Far below the time after which a request is given up anyway. */
const PATIENCE_MS = 20_000;
/** A machine on which AWS credentials are nowhere. */
const NO_CREDENTIALS = {
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_PROFILE: undefined,
  AWS_CONFIG_FILE: '/nonexistent',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
};

async function startForwarder(
  t: Parameters<typeof startExplorer>[0],
  args: readonly string[] = [],
) {
  const { client, create } = await startExplorer(t);
  await create('orders', { kind: 'queue' });
  return { client, ...(await forwarderOf(t, client.connectionString(), { args })) };
}

/** Starts `dynabus explorer` for a namespace. */
async function forwarderOf(
  t: Parameters<typeof startExplorer>[0],
  to: string,
  {
    args = [],
    env = {},
  }: {
    readonly args?: readonly string[];
    readonly env?: Readonly<Record<string, string | undefined>>;
  } = {},
) {
  const cli = startCli(t, { command: 'explorer', args: ['--quiet', '--to', to, ...args], env });
  await cli.untilPrinted('#access=');
  const { hash, origin, port } = new URL(cli.output().trim());
  const secret = hash.replace('#access=', '');
  const own = { Authorization: `Bearer ${secret}` };
  const ask = async (line: string, fields: Readonly<Record<string, string>>, body?: string) => {
    const host = { Host: `localhost:${port}`, Connection: 'close' };
    const { statuses, text } = await rawHttp(Number(port), [
      requestText(line, { ...host, ...fields }, body),
    ]);
    return { status: statuses[0], text };
  };
  return { cli, origin, port, secret, own, ask };
}

/** The connection string of a namespace at a port of this machine. */
function stringOf(port: number): string {
  return `Endpoint=sb://localhost:${port};SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true;`;
}

test('row 29: nothing is passed on without the secret, from another page, or to another name', async (t) => {
  const { client, port, own, secret, ask } = await startForwarder(t);
  const refused: readonly (readonly [status: number, fields: Readonly<Record<string, string>>])[] =
    [
      [401, {}],
      [401, { Authorization: 'Bearer ' }],
      [401, { Authorization: `Bearer ${secret.slice(1)}` }],
      [401, { Authorization: `Bearer ${secret}x` }],
      [401, { Authorization: client.token() }],
      [401, { Authorization: `Basic ${secret}` }],
      [403, { ...own, Origin: 'http://evil.example' }],
      [403, { ...own, Origin: 'null' }],
      [403, { ...own, Origin: `http://localhost:${Number(port) + 1}` }],
      [403, { ...own, Host: `evil.example:${port}` }],
      [403, { ...own, Host: `evil.example:${port}`, Origin: `http://evil.example:${port}` }],
    ];
  for (const [status, fields] of refused) {
    for (const [line, body] of [
      ['GET /$entities', undefined],
      ['DELETE /orders', undefined],
      ['POST /$reset', '{}'],
    ] as const) {
      const answer = await ask(line, { ...JSON_BODY, ...fields }, body);
      assert.equal(answer.status, status, `${line} ${JSON.stringify(fields)}\n${answer.text}`);
      assert.ok(!answer.text.includes(secret));
    }
  }
  const kept = await ask('GET /orders', { ...own, Accept: 'application/json' });
  assert.equal(kept.status, 200, 'the queue is still there');
});

test('row 29: a read-only forwarder passes on no request that may change something', async (t) => {
  const { client, own, ask } = await startForwarder(t, ['--read-only']);
  await client.send('orders', 'stays');
  for (const line of [
    'PUT /more',
    'POST /orders/messages',
    'DELETE /orders/messages/head',
    'DELETE /orders',
    'POST /$clock',
    'PATCH /orders',
  ]) {
    const { status, text } = await ask(line, { ...own, ...JSON_BODY }, '{}');
    assert.equal(status, 403, `${line}: ${text}`);
    assert.match(text, /--read-only/);
  }
  assert.equal(await client.take('orders'), 'stays');
});

test('row 29: an answer tells nothing of the rights behind it, and of its headers only those that the page needs', async (t) => {
  const { origin, own } = await startForwarder(t);
  const response = await fetch(`${origin}/orders`, {
    headers: { ...own, Accept: 'application/json' },
  });
  assert.equal(response.status, 200);
  const names = [...response.headers.keys()];
  const known = ['connection', 'content-length', 'content-type', 'date', 'etag', 'keep-alive'];
  assert.deepEqual(
    names.filter((name) => !known.includes(name) && name !== 'transfer-encoding'),
    [],
  );
});

test('row 29: a request that is too large is refused before it is read', async (t) => {
  const { own, ask } = await startForwarder(t);
  const { status, text } = await ask('POST /orders/messages', {
    ...own,
    'Content-Length': String(200_000_000),
  });
  assert.equal(status, 403, text);
  assert.match(text, /MessageSizeExceeded/);
});

test('row 29: who does not have the secret does not learn which namespace is behind it', async (t) => {
  const { client, origin, own } = await startForwarder(t);
  const about = async (headers: Readonly<Record<string, string>>) => {
    const response = await fetch(`${origin}/$explorer/about.json`, { headers });
    assert.equal(response.status, 200);
    return (await response.json()) as { readonly namespace?: string; readonly access: string };
  };
  for (const headers of [{}, { Authorization: 'Bearer x' }]) {
    const { namespace, access } = await about(headers);
    assert.deepEqual([namespace, access], [undefined, 'forwarded']);
  }
  const [, host] = /sb:\/\/([^/;]+)/.exec(client.connectionString()) ?? [];
  assert.equal((await about(own)).namespace, host);
});

test('a namespace that gives no answer may have done what it was asked for', async (t) => {
  const server = createServer((socket) => socket.on('data', () => socket.destroy()));
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { origin, own } = await forwarderOf(t, stringOf(port));
  const response = await fetch(`${origin}/q/messages/$purge`, { method: 'POST', headers: own });
  assert.equal(response.status, 504);
  assert.match(
    await response.text(),
    /No answer from http:\/\/localhost:\d+, .*taken effect or not/,
  );
});

test('where nothing listens nothing was sent, which is told at once with what to do', async (t) => {
  const { origin, own } = await forwarderOf(t, stringOf(9));
  const response = await fetch(`${origin}/q/messages/$purge`, { method: 'POST', headers: own });
  assert.equal(response.status, 503);
  const { error } = (await response.json()) as { readonly error: Json };
  assert.equal(error['code'], 'NotSent', 'the page does not ask again and again');
  assert.match(
    String(error['message']),
    /^Nothing was sent, .*http:\/\/localhost:9 .*ECONNREFUSED.* Check that the namespace runs/,
  );
});

test('without AWS credentials nothing was sent, which is told with what to do', async (t) => {
  const { origin, own } = await forwarderOf(t, 'http://127.0.0.1:9', {
    args: ['--region', 'eu-west-1'],
    env: NO_CREDENTIALS,
  });
  const response = await fetch(`${origin}/q/messages/$purge`, { method: 'POST', headers: own });
  assert.equal(response.status, 503);
  const { error } = (await response.json()) as { readonly error: Json };
  assert.equal(error['code'], 'NotSent');
  assert.match(
    String(error['message']),
    /^Nothing was sent, because the request cannot be signed: .* Renew your AWS credentials/,
  );
});

test('a receiver that hangs up ends its request to the namespace, so that it locks no message that comes later', async (t) => {
  const server = createServer();
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.after(() => server.close());
  const connected = once(server, 'connection');
  const { origin, own } = await forwarderOf(t, stringOf((server.address() as AddressInfo).port));
  const stop = new AbortController();
  const receiving = fetch(`${origin}/orders/messages/head?timeout=20`, {
    method: 'POST',
    headers: own,
    signal: stop.signal,
  });
  const [socket] = await connected;
  await once(socket, 'data');
  const ended = once(socket, 'close', { signal: AbortSignal.timeout(PATIENCE_MS) });
  stop.abort();
  await assert.rejects(receiving, { name: 'AbortError' });
  await ended;
});

test('a request whose target is no path of this server is refused', async (t) => {
  const { cli, own, ask } = await startForwarder(t);
  for (const line of ['GET https://user:pw@x/orders', 'POST http://u@x/orders/messages']) {
    const { status, text } = await ask(line, own);
    assert.equal(status, 400, `${line}: ${text}`);
    assert.match(text, /ArgumentError.*name and a password/);
  }
  assert.doesNotMatch(cli.errors(), /TypeError/);
});
