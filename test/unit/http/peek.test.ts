import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeekOptions } from '../../../shared/broker/broker.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { startApp } from '../../support/http-fixture.ts';

const message = (text: string) => ({
  message: { messageId: text, body: new TextEncoder().encode(text), properties: {} },
});

test('a peek returns messages without locking them', async () => {
  const { call, broker } = startApp();
  broker.put('q', { ...message('a'), failedDeliveries: 2, expiresAt: FAKE_NOW + 5000 });
  broker.put('q', { ...message('b'), state: 'Deferred', sequenceNumber: 9_007_199_254_740_993n });
  broker.put('q', {
    message: { ...message('c').message, scheduledEnqueueAt: FAKE_NOW + 1000 },
    state: 'Scheduled',
  });
  const response = await call('GET', '/Q/Messages/');
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/vnd.microsoft.servicebus.json');
  const text = await response.text();
  assert.match(text, /"SequenceNumber":9007199254740993,/);
  const shown = JSON.parse(text) as { Body: string; BrokerProperties: Record<string, unknown> }[];
  assert.deepEqual(
    shown.map(({ Body, BrokerProperties: { State, DeliveryCount } }) => [
      Body,
      State,
      DeliveryCount,
    ]),
    [
      ['a', 'Active', 2],
      ['b', 'Deferred', 0],
      ['c', 'Scheduled', 0],
    ],
  );
  const [a, b, c] = shown.map((one) => one.BrokerProperties);
  assert.doesNotMatch(text, /Lock/);
  assert.equal(a?.['EnqueuedTimeUtc'], 'Thu, 15 Jan 2026 12:00:00 GMT');
  assert.equal(a?.['ExpiresAtUtc'], 'Thu, 15 Jan 2026 12:00:05 GMT');
  assert.equal(b?.['ExpiresAtUtc'], undefined);
  assert.equal(c?.['ScheduledEnqueueTimeUtc'], 'Thu, 15 Jan 2026 12:00:01 GMT');
});

test('a peek without messages is an empty list; a dead-letter queue is peeked by its own path', async () => {
  const { call, broker } = startApp();
  broker.put('q/$deadletterqueue', message('dead'));
  const main = await call('GET', '/q/messages?fromSequenceNumber=0&maxMessages=10');
  assert.deepEqual([main.status, await main.text()], [200, '[]']);
  const dead = await call('GET', '/q/$DeadLetterQueue/messages');
  assert.match(await dead.text(), /"Body":"dead"/);
});

const QUERIES: readonly [string, object][] = [
  ['', { maxMessages: 250 }],
  ['?maxMessages=1', { maxMessages: 1 }],
  ['?maxMessages=250', { maxMessages: 250 }],
  ['?maxMessages=251', { maxMessages: 250 }],
  [`?maxMessages=${'9'.repeat(400)}`, { maxMessages: 250 }],
  ['?fromSequenceNumber=0', { fromSequenceNumber: 0n, maxMessages: 250 }],
  [
    '?fromSequenceNumber=9007199254740993&maxMessages=7',
    { fromSequenceNumber: 9_007_199_254_740_993n, maxMessages: 7 },
  ],
  [
    '?fromSequenceNumber=9223372036854775807',
    { fromSequenceNumber: 9_223_372_036_854_775_807n, maxMessages: 250 },
  ],
];
for (const [query, options] of QUERIES) {
  test(`a peek with '${query.slice(0, 60)}' is accepted`, async () => {
    const { call, broker } = startApp();
    assert.equal((await call('GET', `/q/messages${query}`)).status, 200);
    const [[made, asked] = []] = broker.calls;
    const { payloads, ...plain } = asked as PeekOptions;
    assert.deepEqual([made, plain], ['peek', options]);
    assert.ok(payloads, 'large messages count');
  });
}

for (const query of [
  'maxMessages=0',
  'maxMessages=-1',
  'maxMessages=1.5',
  'maxMessages=1e2',
  'maxMessages=x',
  'maxMessages=',
  'fromSequenceNumber=',
  'fromSequenceNumber=-1',
  'fromSequenceNumber=1.0',
  'fromSequenceNumber=0x1',
  'fromSequenceNumber=x',
  'fromSequenceNumber=9223372036854775808',
  'fromSequenceNumber=100000000000000000000',
]) {
  test(`a peek with ?${query} is 400, in JSON`, async () => {
    const { call, broker } = startApp();
    const response = await call('GET', `/q/messages?${query}`);
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.equal(error.code, 'ArgumentError');
    assert.match(error.message, /maxMessages|fromSequenceNumber/);
    assert.deepEqual(broker.calls, []);
  });
}

test('a peek of a missing entity is 410', async () => {
  const { call } = startApp();
  assert.equal((await call('GET', '/nobody/messages')).status, 410);
});
