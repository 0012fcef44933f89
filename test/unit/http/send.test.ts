import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { ROOT_TOKEN, rule, startApp } from '../../support/http-fixture.ts';

const BATCH = { 'content-type': 'application/vnd.microsoft.servicebus.json; charset=utf-8' };

test('a message is sent with its headers and exactly its bytes', async () => {
  const { call, broker } = startApp();
  const body = Uint8Array.of(0, 255, 10);
  const response = await call('POST', '/q/messages?timeout=60&api-version=2021-05', {
    headers: {
      'content-type': 'application/json',
      brokerproperties: '{"MessageId":"m-1","Label":"M1","TimeToLive":10}',
      priority: '"High"',
      quantity: '7',
    },
    body,
  });
  assert.equal(response.status, 201);
  assert.equal(await response.text(), '');
  assert.deepEqual(broker.waiting('q')[0]?.message, {
    messageId: 'm-1',
    label: 'M1',
    timeToLiveMs: 10_000,
    contentType: 'application/json',
    body,
    properties: {
      priority: { type: 'string', value: 'High' },
      quantity: { type: 'int', value: 7 },
    },
  });
});

test('a batch is sent as its messages, and message headers are ignored', async () => {
  const { call, broker } = startApp();
  const response = await call('POST', '/q/messages', {
    headers: { ...BATCH, brokerproperties: 'not JSON', priority: '"High"' },
    body: '[{"Body":"a"},{"Body":"b"}]',
  });
  assert.equal(response.status, 201);
  assert.deepEqual(
    broker.waiting('q').map(({ message }) => message.properties),
    [{}, {}],
  );
});

for (const path of ['/Q/Messages', '/a/b/messages', '/A%2FB/MESSAGES']) {
  test(`POST ${path} finds its entity`, async () => {
    const { call } = startApp();
    assert.equal((await call('POST', path, { body: 'x' })).status, 201);
  });
}

const REFUSED: readonly [string, string, RequestInit, number, RegExp][] = [
  ['POST', '/nobody/messages', {}, 410, /could not be found/],
  ['POST', '/q%zz/messages', {}, 400, /not percent-encoded/],
  ['POST', '/q%00/messages', {}, 400, /is not valid/],
  ['POST', '/-q/messages', {}, 400, /is not valid/],
  [
    'POST',
    '/q/messages',
    { headers: { brokerproperties: '{' } },
    400,
    /SubCode=40000\. .*not valid JSON/,
  ],
  ['POST', '/q/messages', { headers: { brokerproperties: '{"TimeToLive":0}' } }, 400, /zero/],
  ['POST', '/q/messages', { headers: { p: `"${'x'.repeat(32_769)}"` } }, 400, /limit is 32768/],
  ['POST', '/q/messages', { headers: BATCH, body: '[{}]' }, 400, /Message 0 of the batch/],
  ['POST', '/q/messages', { headers: { 'content-length': '999999999' } }, 403, /999999999 bytes/],
  ['PATCH', '/q/messages', {}, 405, /supported: POST/],
  ['GET', '/q/messages/head', {}, 405, /supported: POST, DELETE/],
  ['GET', '/q', {}, 404, /No operation/],
];
for (const [method, path, init, status, detail] of REFUSED) {
  test(`${method} ${path} ${JSON.stringify(init).slice(0, 60)} is ${status}`, async () => {
    const { call, broker } = startApp();
    const response = await call(method, path, init);
    assert.equal(response.status, status);
    const text = await response.text();
    assert.match(text, detail);
    assert.match(text, / TrackingId:[0-9a-f-]{36}_G0, SystemTracker:test:[^,]*, Timestamp:[^<]+</);
    assert.deepEqual(broker.waiting('q'), []);
  });
}

test('a body without a length is read only up to the limit', async () => {
  const { app } = startApp();
  const megabyte = new Uint8Array(2 ** 20);
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled += 1;
      controller.enqueue(megabyte);
    },
  });
  const response = await app.request('http://localhost/q/messages', {
    method: 'POST',
    headers: { authorization: ROOT_TOKEN },
    body: endless,
    duplex: 'half',
  } as RequestInit);
  assert.equal(response.status, 403);
  assert.ok(pulled < 110, `read ${pulled} MB`);
});

test('without a token the body is not read', async () => {
  const { app } = startApp();
  const response = await app.request('http://localhost/q/messages', { method: 'POST', body: '{' });
  assert.equal(response.status, 401);
  assert.match(await response.text(), /40102: MissingToken: /);
});

test('a token with only Listen cannot send', async () => {
  const listener = createSasToken({
    audience: 'localhost',
    keyName: 'listener',
    key: 'listener-primary',
    expiresAt: FAKE_NOW + 1000,
  });
  const { call } = startApp({ namespaceKeys: { rules: async () => [rule('listener', 'Listen')] } });
  const headers = { authorization: listener };
  assert.equal((await call('POST', '/q/messages', { headers, body: 'x' })).status, 401);
  assert.equal((await call('POST', '/q/messages/head?timeout=0', { headers })).status, 204);
});

test('a refusal of the broker keeps its code', async () => {
  const { call, broker } = startApp();
  broker.failures.send = new BrokerError('QuotaExceeded', 'The entity is full.');
  const response = await call('POST', '/q/messages', { body: 'x' });
  assert.equal(response.status, 403);
  assert.equal(response.headers.get('x-dynabus-error'), 'QuotaExceeded');
});

for (const path of ['/$health', '/health']) {
  test(`GET ${path} needs no token`, async () => {
    const response = await startApp().app.request(path);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { status: 'healthy', message: 'Service is healthy.' });
  });
}
