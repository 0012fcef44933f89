import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { startApp } from '../../support/http-fixture.ts';

const DUE = 'Thu, 15 Jan 2026 13:00:00 GMT';

const scheduled = (text: string, at: unknown = DUE) => ({
  Body: text,
  BrokerProperties: { MessageId: text, ScheduledEnqueueTimeUtc: at },
});

test('$schedule returns the sequence numbers of the messages, in order', async () => {
  const { call, broker } = startApp();
  const response = await call('POST', '/q/messages/$schedule', {
    body: JSON.stringify([scheduled('a'), scheduled('b', '2026-01-15T12:00:00.250Z')]),
  });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.equal(await response.text(), '{"sequenceNumbers":[1,2]}');
  assert.deepEqual(
    broker.waiting('q').map(({ message }) => [message.messageId, message.scheduledEnqueueAt]),
    [
      ['a', FAKE_NOW + 3_600_000],
      ['b', FAKE_NOW + 250],
    ],
  );
});

test('sequence numbers keep every digit; a message that was not stored has none', async () => {
  const { call, broker } = startApp();
  broker.send = async () => [
    { messageId: 'a', sequenceNumber: 9_007_199_254_740_993n },
    { messageId: 'b' },
  ];
  const body = JSON.stringify([scheduled('a'), scheduled('b')]);
  const response = await call('POST', '/q/messages/$schedule', { body });
  assert.equal(await response.text(), '{"sequenceNumbers":[9007199254740993,null]}');
});

const BAD_BATCHES: readonly [string, RegExp][] = [
  ['', /The batch is not valid JSON/],
  ['{', /The batch is not valid JSON/],
  ['{}', /The batch must be a JSON array/],
  ['[]', /The batch holds no message/],
  ['[1]', /Message 0 of the batch: It must be a JSON object/],
  [JSON.stringify([scheduled('a'), { Body: 'b' }]), /Message 1 .* ScheduledEnqueueTimeUtc is req/],
  [JSON.stringify([scheduled('a', null)]), /Message 0 .* ScheduledEnqueueTimeUtc is required/],
  [JSON.stringify([scheduled('a', 'soon')]), /ScheduledEnqueueTimeUtc must be a date like/],
  [JSON.stringify([scheduled('a', '2026-01-15T12:00:00')]), /must be a date like/],
  [JSON.stringify([scheduled('a', '2026-02-30T12:00:00Z')]), /must be a date like/],
  [JSON.stringify([scheduled('a', FAKE_NOW)]), /must be a date like/],
  [JSON.stringify(Array(4501).fill(scheduled('a'))), /holds 4501 messages; the limit is 4500/],
];
for (const [body, sentence] of BAD_BATCHES) {
  test(`$schedule of ${body.slice(0, 70)} is 400`, async () => {
    const { call, broker } = startApp();
    const response = await call('POST', '/q/messages/$schedule', { body });
    assert.equal(response.status, 400);
    assert.match(await response.text(), sentence);
    assert.deepEqual(broker.waiting('q'), []);
  });
}

test('an ordinary send accepts fractions of a second in a date, too', async () => {
  const { call, broker } = startApp();
  const brokerproperties = '{"ScheduledEnqueueTimeUtc":"2026-01-15T13:00:00.001+01:00"}';
  await call('POST', '/q/messages', { headers: { brokerproperties }, body: 'x' });
  assert.equal(broker.waiting('q')[0]?.message.scheduledEnqueueAt, FAKE_NOW + 1);
});

test('$cancelScheduled cancels scheduled messages, with an empty response', async () => {
  const { call, broker } = startApp();
  const body = JSON.stringify([scheduled('a'), scheduled('b'), scheduled('c')]);
  await call('POST', '/q/messages/$schedule', { body });
  const response = await call('POST', '/Q/Messages/$CANCELscheduled', {
    body: '{"sequenceNumbers":[3,1]}',
  });
  assert.equal(response.status, 200);
  assert.equal(await response.text(), '');
  assert.deepEqual(
    broker.waiting('q').map(({ message }) => message.messageId),
    ['b'],
  );
});

test('$cancelScheduled of an unknown sequence number is 404, in JSON', async () => {
  const { call, broker } = startApp();
  await call('POST', '/q/messages/$schedule', { body: JSON.stringify([scheduled('a')]) });
  const response = await call('POST', '/q/messages/$cancelScheduled', {
    body: '{"sequenceNumbers":[1,9223372036854775807]}',
  });
  assert.equal(response.status, 404);
  const { error } = (await response.json()) as { error: { code: string; retryable: boolean } };
  assert.deepEqual([error.code, error.retryable], ['MessageNotFound', false]);
  assert.deepEqual(broker.calls, [['cancelScheduled', [1n, 9_223_372_036_854_775_807n]]]);
  assert.equal(broker.waiting('q').length, 1);
});

test('a refusal of the broker to schedule keeps its code', async () => {
  const { call, broker } = startApp();
  broker.failures.send = new BrokerError('ServiceBusy', 'Busy.');
  const body = JSON.stringify([scheduled('a')]);
  const response = await call('POST', '/q/messages/$schedule', { body });
  assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '1']);
});
