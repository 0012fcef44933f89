import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  printBrokerProperties,
  readBrokerProperties,
  type SystemProperties,
} from '../../../lambdas/http/format/broker-properties.ts';
import { parseExactJson } from '../../../lambdas/http/format/exact-json.ts';
import type { LockedMessage } from '../../../shared/domain/messages/message.ts';

const read = (json: string): SystemProperties =>
  readBrokerProperties(parseExactJson(json, 'The BrokerProperties header'));

test('the keys that a sender may set are read, all others are ignored', () => {
  const json = {
    MessageId: 'm',
    SessionId: '',
    PartitionKey: '',
    ViaPartitionKey: 'v',
    CorrelationId: 'c',
    Label: null,
    ReplyTo: 'r',
    ReplyToSessionId: 'rs',
    To: 't',
    TimeToLive: 10.5,
    ScheduledEnqueueTimeUtc: 'Sun, 06 Nov 2033 08:49:37 GMT',
    ForcePersistence: true,
    SequenceNumber: 'not even a number',
    DeliveryCount: 3,
    Whatever: {},
  };
  assert.deepEqual(read(JSON.stringify(json)), {
    messageId: 'm',
    sessionId: '',
    partitionKey: '',
    viaPartitionKey: 'v',
    correlationId: 'c',
    replyTo: 'r',
    replyToSessionId: 'rs',
    to: 't',
    timeToLiveMs: 10_500,
    scheduledEnqueueAt: Date.UTC(2033, 10, 6, 8, 49, 37),
    forcePersistence: true,
  });
});

const READ: readonly [string, SystemProperties][] = [
  ['{}', {}],
  ['null', {}],
  ['{"MessageId":""}', {}],
  ['{"TimeToLive":10.0}', { timeToLiveMs: 10_000 }],
  ['{"TimeToLive":0.0001}', { timeToLiveMs: 1 }],
  ['{"TimeToLive":922337203685.47754}', {}],
  ['{"TimeToLive":123456789012345678901234567890}', {}],
  ['{"TimeToLive":1e400}', {}],
  ['{"TimeToLiveTimeSpan":"0.00:00:40"}', { timeToLiveMs: 40_000 }],
  ['{"TimeToLiveTimeSpan":"10675199.02:48:05.4775807"}', {}],
  ['{"MessageId":"a","MessageId":"b"}', { messageId: 'b' }],
  ['{"__proto__":{"MessageId":"x"},"constructor":1}', {}],
  ['{"ScheduledEnqueueTimeUtc":"2033-11-06T08:49:37Z"}', { scheduledEnqueueAt: 2014879777000 }],
];
for (const [json, expected] of READ) {
  test(`${json} is read`, () => assert.deepEqual(read(json), expected));
}

const REFUSED: readonly [string, string, RegExp][] = [
  ['{', 'ArgumentError', /^The BrokerProperties header is not valid JSON\.$/],
  ['[]', 'ArgumentError', /must be a JSON object/],
  ['"x"', 'ArgumentError', /must be a JSON object/],
  ['['.repeat(64), 'ArgumentError', /not valid JSON/],
  [`${'['.repeat(64)}${']'.repeat(64)}`, 'ArgumentError', /must be a JSON object/],
  ['['.repeat(65), 'ArgumentError', /more than 64 lists and objects deep/],
  ['{"MessageId":7}', 'ArgumentError', /^MessageId must be a text\.$/],
  ['{"Label":{}}', 'ArgumentError', /^Label must be a text\.$/],
  [`{"SessionId":"${'x'.repeat(129)}"}`, 'ArgumentError', /^SessionId is 129 .* limit is 128\.$/],
  ['{"MessageId":"\\ud800"}', 'ArgumentError', /surrogate/],
  ['{"TimeToLive":0}', 'ArgumentError', /greater than zero/],
  ['{"TimeToLive":-1.0}', 'ArgumentError', /greater than zero/],
  ['{"TimeToLive":"10"}', 'ArgumentError', /^TimeToLive must be a number/],
  ['{"TimeToLiveTimeSpan":"00:00:00"}', 'ArgumentError', /greater than zero/],
  ['{"TimeToLiveTimeSpan":"PT10S"}', 'ArgumentError', /^TimeToLiveTimeSpan must be/],
  ['{"ScheduledEnqueueTimeUtc":"tomorrow"}', 'ArgumentError', /^ScheduledEnqueueTimeUtc must be/],
  ['{"ScheduledEnqueueTimeUtc":1}', 'ArgumentError', /^ScheduledEnqueueTimeUtc must be/],
  ['{"ForcePersistence":"yes"}', 'ArgumentError', /^ForcePersistence must be/],
  ['{"SessionId":"a","PartitionKey":"b"}', 'InvalidOperation', /PartitionKey 'b' differs/],
];
for (const [json, code, message] of REFUSED) {
  test(`${json.slice(0, 60)} is refused`, () => assert.throws(() => read(json), { code, message }));
}

const locked: LockedMessage = {
  message: { messageId: 'm', body: new Uint8Array(), properties: {}, label: 'ä"' },
  sequenceNumber: 9_223_372_036_854_775_807n,
  enqueuedAt: Date.UTC(2014, 6, 2, 1, 32, 27, 999),
  failedDeliveries: 0,
  state: 'Active',
  expiresAt: Date.UTC(2014, 6, 2, 2),
  timeToLiveMs: 10_500,
  lockToken: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547',
  lockedUntil: Date.UTC(2014, 6, 2, 1, 33, 27),
};

test('a locked message has its keys in alphabetical order and all digits of its numbers', () => {
  assert.equal(
    printBrokerProperties(locked, { view: 'received' }),
    '{"DeliveryCount":1,"EnqueuedSequenceNumber":0,"EnqueuedTimeUtc":"Wed, 02 Jul 2014 01:32:27 GMT","Label":"ä\\"","LockToken":"7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547","LockedUntilUtc":"Wed, 02 Jul 2014 01:33:27 GMT","MessageId":"m","SequenceNumber":9223372036854775807,"State":"Active","TimeToLive":10.5}',
  );
});

test('all keys are in alphabetical order', () => {
  const { timeToLiveMs, lockToken, lockedUntil, ...stored } = locked;
  const json = printBrokerProperties(
    {
      ...stored,
      state: 'Scheduled',
      message: {
        ...locked.message,
        contentType: 'text/plain',
        correlationId: 'c',
        deadLetterSource: 'd',
        enqueuedSequenceNumber: 3n,
        forcePersistence: false,
        partitionKey: 'p',
        replyTo: 'r',
        replyToSessionId: 'rs',
        scheduledEnqueueAt: 0,
        sessionId: 'p',
        to: 't',
        viaPartitionKey: 'v',
      },
    },
    { view: 'peeked', contentType: true, expiresAt: true, userProperties: '{}' },
  );
  const keys = Object.keys(JSON.parse(json));
  assert.deepEqual(keys, [...keys].sort());
  assert.equal(keys.length, 21);
  assert.match(json, /"DeliveryCount":0,"EnqueuedSequenceNumber":3,/);
  assert.match(json, /"State":"Scheduled","TimeToLive":922337203685\.47754,/);
});
