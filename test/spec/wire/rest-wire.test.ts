import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Headers that HTTP servers add to every response. */
const TRANSPORT = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'];

async function startQueue(t: TestContext, name = 'q'): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue(name), 201);
  return broker;
}

const namesOf = (headers: Headers) =>
  [...headers.keys()].filter((name) => !TRANSPORT.includes(name)).sort();

test('a message sent with only a session id has it as its partition key (Node client of 2014)', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  for (const [sent, shown] of [
    [{ SessionId: 'session' }, 'session'],
    [{ SessionId: '', PartitionKey: 'key' }, 'key'],
    [{}, undefined],
  ] as const) {
    expectStatus(await broker.send('q', 'm', sent), 201);
    const message = await broker.receiveAndDelete('q');
    assert.equal(message?.broker['PartitionKey'], shown);
  }
});

test('#146 #147 a lock is created, renewed, abandoned and completed by the methods of the REST API', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', 'x'), 201);
  const first = await broker.request('POST', 'q/messages/head?timeout=0');
  assert.equal(first.status, 201);
  const location = first.headers.get('location') ?? '';
  const [, number, token] = /\/q\/messages\/(\d+)\/([^/]+)$/.exec(location) ?? [];
  assert.equal(location, `${broker.api.url}/q/messages/${number}/${token}`);
  assert.equal(number, '1');
  assert.match(token ?? '', GUID);

  for (const method of ['POST', 'PUT']) {
    const answer = await broker.request(method, location);
    assert.deepEqual([answer.status, answer.text], [200, '']);
  }
  for (const method of ['POST', 'PUT', 'DELETE']) {
    assert.equal((await broker.request(method, location)).status, 404);
  }
  const second = await broker.request('POST', 'q/messages/head?timeout=0');
  const completed = await broker.request('DELETE', second.headers.get('location') ?? '');
  assert.deepEqual([completed.status, completed.text], [200, '']);
  assert.deepEqual((await broker.request('POST', 'q/messages/head?timeout=0')).status, 204);
});

test('BrokerProperties have the keys of the REST API in alphabetical order', async (t) => {
  const broker = await startQueue(t);
  broker.clock.advance({ ms: 999 });
  const sent = {
    CorrelationId: 'c',
    Label: 'M1 "ü"',
    MessageId: 'm-1',
    PartitionKey: 's-1',
    ReplyTo: 'answers',
    ReplyToSessionId: 'r-1',
    SessionId: 's-1',
    TimeToLive: 10.25,
    To: 'you',
    ViaPartitionKey: 'v-1',
    // Read-only and unknown keys are ignored.
    SequenceNumber: 77,
    DeliveryCount: 9,
    State: 'Deferred',
    Whatever: [1, { a: null }],
  };
  expectStatus(
    await broker.request('POST', 'q/messages', {
      headers: { BrokerProperties: JSON.stringify(sent).replace('ü', '\\u00fc') },
      body: 'x',
    }),
    201,
  );

  const locked = await broker.request('POST', 'q/messages/head?timeout=0');
  const text = locked.headers.get('brokerproperties') ?? '';
  const token = (JSON.parse(text) as { LockToken: string }).LockToken;
  const before =
    '{"CorrelationId":"c","DeliveryCount":1,"EnqueuedSequenceNumber":0,"EnqueuedTimeUtc":"Thu, 01 Jan 2026 00:00:00 GMT","Label":"M1 \\"\\u00fc\\"",';
  const lock = `"LockToken":"${token}","LockedUntilUtc":"Thu, 01 Jan 2026 00:01:00 GMT",`;
  const after =
    '"MessageId":"m-1","PartitionKey":"s-1","ReplyTo":"answers","ReplyToSessionId":"r-1","SequenceNumber":1,"SessionId":"s-1","State":"Active","TimeToLive":10.25,"To":"you","ViaPartitionKey":"v-1"}';
  assert.equal(text, before + lock + after);

  await broker.request('PUT', locked.headers.get('location') ?? '');
  const deleted = await broker.request('DELETE', 'q/messages/head?timeout=0');
  assert.equal(
    deleted.headers.get('brokerproperties'),
    (before + after).replace('"DeliveryCount":1', '"DeliveryCount":2'),
  );
});

test('a message without properties from its sender has only those of the service', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.request('POST', 'q/messages'), 201);
  const answer = await broker.request('DELETE', 'q/messages/head?timeout=0');
  const shown = JSON.parse(answer.headers.get('brokerproperties') ?? '');
  assert.deepEqual(Object.keys(shown), [
    'DeliveryCount',
    'EnqueuedSequenceNumber',
    'EnqueuedTimeUtc',
    'MessageId',
    'SequenceNumber',
    'State',
    'TimeToLive',
  ]);
  assert.match(answer.headers.get('brokerproperties') ?? '', /"TimeToLive":922337203685\.47754\}$/);
  assert.equal(answer.headers.get('content-type'), 'application/atom+xml;type=entry;charset=utf-8');
  assert.deepEqual(namesOf(answer.headers), ['brokerproperties', 'content-type']);
  assert.equal(answer.bytes.length, 0);
});

test('a response has no headers but those of the message: clients would take them for properties', async (t) => {
  const broker = await startQueue(t);
  expectStatus(await broker.send('q', '{}', {}, { Priority: '"High"' }), 201);
  const locked = await broker.request('POST', 'q/messages/head?timeout=0');
  assert.deepEqual(namesOf(locked.headers), [
    'brokerproperties',
    'content-type',
    'location',
    'priority',
  ]);
  const location = locked.headers.get('location') ?? '';
  const renewed = await broker.request('POST', location);
  assert.deepEqual(namesOf(renewed.headers), ['brokerproperties']);
  assert.deepEqual(namesOf((await broker.request('DELETE', location)).headers), []);
  assert.deepEqual(namesOf((await broker.send('q', 'x')).headers), []);
});

test('a received batch has the JSON form of a sent batch', async (t) => {
  const broker = await startQueue(t);
  const headers = { 'Content-Type': 'text/plain', Priority: '"High"' };
  expectStatus(await broker.send('q', 'a', { MessageId: 'm', TimeToLive: 60 }, headers), 201);
  const answer = await broker.request('POST', 'q/messages/head?timeout=0&maxMessages=5');
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get('content-type'), 'application/vnd.microsoft.servicebus.json');
  assert.deepEqual(namesOf(answer.headers), ['content-type']);
  const [message] = answer.json<{ BrokerProperties: { LockToken: string } }[]>();
  assert.ok(message);
  assert.match(message.BrokerProperties.LockToken, GUID);
  assert.deepEqual(message, {
    Body: 'a',
    BrokerProperties: {
      ContentType: 'text/plain',
      DeliveryCount: 1,
      EnqueuedSequenceNumber: 0,
      EnqueuedTimeUtc: 'Thu, 01 Jan 2026 00:00:00 GMT',
      ExpiresAtUtc: 'Thu, 01 Jan 2026 00:01:00 GMT',
      LockToken: message.BrokerProperties.LockToken,
      LockedUntilUtc: 'Thu, 01 Jan 2026 00:01:00 GMT',
      MessageId: 'm',
      SequenceNumber: 1,
      State: 'Active',
      TimeToLive: 60,
    },
    UserProperties: { priority: 'High' },
  });
  expectStatus(await broker.sendBatch('q', answer.json()), 201);
  const again = await broker.request('DELETE', 'q/messages/head?timeout=0');
  assert.deepEqual(
    [again.text, again.headers.get('content-type'), again.headers.get('priority')],
    ['a', 'text/plain', '"High"'],
  );
});

test('#33 paths match in any case, and the address of a lock is in lower case', async (t) => {
  const broker = await startQueue(t, 'Orders');
  expectStatus(await broker.send('ORDERS', 'x'), 201);
  const locked = await broker.request('POST', 'oRDERS/Messages/HEAD?timeout=0');
  assert.equal(locked.status, 201);
  const location = locked.headers.get('location') ?? '';
  assert.ok(location.startsWith(`${broker.api.url}/orders/messages/1/`), location);
  const { LockToken } = JSON.parse(locked.headers.get('brokerproperties') ?? '');
  const address = `Orders/MESSAGES/1/${LockToken.toUpperCase()}`;
  assert.equal((await broker.request('PUT', address)).status, 200);

  const [message] = await broker.peekLockMany('orders', 1);
  const settled = await broker.request('POST', 'ORDERS/Messages/$Settle', {
    body: JSON.stringify({
      settlements: [{ lockToken: message?.broker.LockToken, outcome: 'deadLetter' }],
    }),
  });
  assert.equal(settled.status, 200);
  const dead = await broker.request('POST', 'Orders/$DeadLetterQueue/messages/head?timeout=0');
  assert.equal(dead.status, 201);
  assert.match(dead.headers.get('location') ?? '', /\/orders\/\$deadletterqueue\/messages\/1\//);
  assert.equal((await broker.request('DELETE', dead.headers.get('location') ?? '')).status, 200);
});

for (const address of ['Shop/Orders/EU', 'shop%2Forders%2Feu', 'shop/orders/eu']) {
  test(`the entity Shop/Orders/EU is found at ${address}`, async (t) => {
    const broker = await startQueue(t, 'Shop/Orders/EU');
    expectStatus(await broker.request('POST', `${address}/messages`, { body: 'x' }), 201);
    const locked = await broker.request('POST', `${address}/messages/head?timeout=0`);
    assert.deepEqual([locked.status, locked.text], [201, 'x']);
    const location = locked.headers.get('location') ?? '';
    assert.ok(location.startsWith(`${broker.api.url}/shop/orders/eu/messages/1/`), location);
    assert.equal((await broker.request('DELETE', location)).status, 200);
  });
}
