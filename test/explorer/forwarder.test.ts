import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCli } from '../local/cli.ts';
import { rawHttp, requestText } from '../support/http-conversation.ts';
import { startExplorer } from './fixture.ts';

/** What `dynabus explorer` passes on, and for whom: whoever is behind it has the rights of who has started it. */

const JSON_BODY = { 'Content-Type': 'application/json' };

async function startForwarder(
  t: Parameters<typeof startExplorer>[0],
  args: readonly string[] = [],
) {
  const { client, create } = await startExplorer(t);
  await create('orders', { kind: 'queue' });
  const cli = startCli(t, {
    command: 'explorer',
    args: ['--quiet', '--to', client.connectionString(), ...args],
  });
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
  return { client, origin, port, secret, own, ask };
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

test('a namespace that does not answer is told with what to do', async (t) => {
  const cli = startCli(t, {
    command: 'explorer',
    args: [
      '--quiet',
      '--to',
      'Endpoint=sb://localhost:9;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true;',
    ],
  });
  await cli.untilPrinted('#access=');
  const { hash, origin } = new URL(cli.output().trim());
  const headers = { Authorization: `Bearer ${hash.replace('#access=', '')}` };
  const response = await fetch(`${origin}/$entities`, { headers });
  assert.equal(response.status, 504);
  assert.match(await response.text(), /No answer from http:\/\/localhost:9/);
});
