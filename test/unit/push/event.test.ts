import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { SQSEvent } from 'aws-lambda';
import fc from 'fast-check';
import { parseExactJson } from '../../../lambdas/http/format/exact-json.ts';
import { readProperties } from '../../../lambdas/http/format/property-json.ts';
import { printEvent } from '../../../lambdas/push/event/print-event.ts';
import type { PushedEvent, PushedRecord } from '../../../lambdas/push/event/record.ts';
import {
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import type { LockedMessage } from '../../../shared/domain/messages/message.ts';
import type { Properties } from '../../../shared/domain/messages/property-value.ts';
import type { Batch } from '../../../shared/push/ports.ts';
import { properties } from '../../support/message-arbitraries.ts';
import { batch, consumer, entity, FACTS, locked, NOW } from './batches.ts';

// Compiles only while the event is one that handlers of SQS take.
const asSqs = (event: PushedEvent): SQSEvent => event;

function parsed(pushed: Batch): PushedRecord[] {
  const event: PushedEvent = JSON.parse(printEvent(pushed, FACTS) ?? 'null');
  return event.Records;
}

function recordOf(message: LockedMessage, changes: Partial<Batch> = {}): PushedRecord {
  const [record] = parsed(batch([message], changes));
  assert.ok(record);
  return record;
}

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

test('an event has what an event of SQS has, and the message beside it', () => {
  const message = locked(
    { label: 'new', properties: { kind: { type: 'string', value: 'gift' } } },
    { failedDeliveries: 2, sequenceNumber: 72057594037927936n },
  );
  const { md5OfMessageAttributes, ...record } = recordOf(message);
  assert.match(md5OfMessageAttributes, /^[0-9a-f]{32}$/);
  assert.deepEqual(record, {
    messageId: '72057594037927936',
    receiptHandle: message.lockToken,
    body: 'hello',
    attributes: {
      ApproximateReceiveCount: '3',
      SentTimestamp: String(NOW - 5000),
      SenderId: 'dynabus',
      ApproximateFirstReceiveTimestamp: String(NOW),
      SequenceNumber: '72057594037927936',
    },
    messageAttributes: {
      kind: attribute('String', 'gift'),
      MessageId: attribute('String', 'm-1'),
      'dynabus-hops': attribute('Number', '1'),
    },
    md5OfBody: '5d41402abc4b2a76b9719d911017c592',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:dynabus:eu-central-1:123456789012:Orders',
    awsRegion: 'eu-central-1',
    serviceBus: {
      brokerProperties: {
        DeliveryCount: 3,
        EnqueuedSequenceNumber: 0,
        EnqueuedTimeUtc: 'Wed, 02 Jan 2030 03:04:00 GMT',
        Label: 'new',
        LockToken: message.lockToken,
        LockedUntilUtc: 'Wed, 02 Jan 2030 03:05:05 GMT',
        MessageId: 'm-1',
        SequenceNumber: 72057594037927936,
        State: 'Active',
        TimeToLive: 922337203685.4775,
      },
      properties: { kind: 'gift', 'dynabus-hops': 1 },
    },
  });
});

function attribute(dataType: string, stringValue: string) {
  return { stringValue, stringListValues: [], binaryListValues: [], dataType };
}

test('an event is an event of SQS to the types of AWS', () => {
  const [record] = asSqs({ Records: [recordOf(locked())] }).Records;
  assert.equal(record?.messageAttributes['MessageId']?.stringValue, 'm-1');
});

test('messages keep their order', () => {
  const numbers = [5n, 3n, 9n];
  const records = parsed(batch(numbers.map((sequenceNumber) => locked({}, { sequenceNumber }))));
  assert.deepEqual(
    records.map(({ messageId }) => messageId),
    ['5', '3', '9'],
  );
});

test('a body that is no text is base64, and says so', () => {
  const binary = recordOf(locked({ body: Uint8Array.of(0xff, 0x00) }));
  assert.equal(binary.body, '/wA=');
  assert.equal(binary.isBase64Encoded, true);
  assert.equal(binary.md5OfBody, md5('/wA='));
  const text = recordOf(locked({ body: Buffer.from('\ufeffgrün "\u0000"') }));
  assert.equal(text.body, '\ufeffgrün "\u0000"');
  assert.equal(text.md5OfBody, md5('\ufeffgrün "\u0000"'));
  assert.equal('isBase64Encoded' in text, false);
});

test('a session is the message group', () => {
  const message = locked({ sessionId: 'cart-1' });
  const inSession = recordOf(message, { sessionId: 'cart-1' });
  assert.equal(inSession.attributes.MessageGroupId, 'cart-1');
  assert.equal(recordOf(message).attributes.MessageGroupId, undefined);
});

test('the id by which a queue finds duplicates is the deduplication id', () => {
  const detecting = entity('Orders', { ...QUEUE_DEFAULTS, requiresDuplicateDetection: true });
  const found = recordOf(locked(), { entity: detecting });
  assert.equal(found.attributes.MessageDeduplicationId, 'm-1');
  assert.equal(recordOf(locked()).attributes.MessageDeduplicationId, undefined);
});

test('the last segment of the source is the path of the queue', () => {
  const subscription = entity('News/Subscriptions/All', SUBSCRIPTION_DEFAULTS);
  const dead = consumer({ subQueue: 'deadLetter' });
  const { eventSourceARN } = recordOf(locked(), { entity: subscription, consumer: dead });
  assert.equal(eventSourceARN.split(':').at(-1), 'News/Subscriptions/All/$deadletterqueue');
});

test('each type of a property is a message attribute', () => {
  const values: Properties = {
    text: { type: 'string', value: 'a"b' },
    nothing: { type: 'null' },
    yes: { type: 'boolean', value: true },
    char: { type: 'char', value: 'ß' },
    uri: { type: 'uri', value: 'urn:x' },
    guid: { type: 'guid', value: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547' },
    int: { type: 'int', value: -5 },
    double: { type: 'double', value: 1.5 },
    infinite: { type: 'double', value: Number.POSITIVE_INFINITY },
    long: { type: 'long', value: 9007199254740993n },
    date: { type: 'dateTime', value: 0 },
    farDate: { type: 'dateTime', value: 9e15 },
    offset: { type: 'dateTimeOffset', value: 621_355_968_000_000_001n },
    span: { type: 'timeSpan', value: 36_000_000_000n },
    bytes: { type: 'bytes', value: Uint8Array.of(1, 2) },
    decimal: { type: 'decimal', value: Buffer.from('303a000000000000000000000000000f', 'hex') },
    largest: { type: 'decimal', value: Buffer.from('5ffe0000000000000000000000000001', 'hex') },
    noNumber: { type: 'decimal', value: Buffer.from('7c000000000000000000000000000000', 'hex') },
    MessageId: { type: 'string', value: 'not this one' },
  };
  const { messageAttributes, serviceBus } = recordOf(locked({ properties: values }));
  const shown = Object.entries(messageAttributes).map(([name, one]) => [
    name,
    one.dataType,
    one.stringValue ?? one.binaryValue,
  ]);
  assert.deepEqual(shown, [
    ['text', 'String', 'a"b'],
    ['nothing', 'String.null', ''],
    ['yes', 'String.boolean', 'true'],
    ['char', 'String.char', 'ß'],
    ['uri', 'String.uri', 'urn:x'],
    ['guid', 'String.guid', '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547'],
    ['int', 'Number', '-5'],
    ['double', 'Number', '1.5'],
    ['infinite', 'String.double', 'Infinity'],
    ['long', 'Number', '9007199254740993'],
    ['date', 'String.dateTime', '1970-01-01T00:00:00.000Z'],
    ['farDate', 'String.dateTime', '9000000000000000'],
    ['offset', 'String.dateTimeOffset', '1970-01-01T00:00:00.0000001Z'],
    ['span', 'String.timeSpan', '01:00:00'],
    ['bytes', 'Binary', 'AQI='],
    ['decimal', 'Number', '0.015'],
    ['largest', 'Number', '1E6111'],
    ['noNumber', 'Binary.decimal', 'fAAAAAAAAAAAAAAAAAAAAA=='],
    ['MessageId', 'String', 'm-1'],
    ['dynabus-hops', 'Number', '1'],
  ]);
  assert.equal(messageAttributes['bytes']?.stringValue, undefined);
  assert.equal(serviceBus.properties['MessageId'], 'not this one');
});

test('any body and any properties can be restored from an event', () => {
  const body = fc.oneof(fc.uint8Array(), fc.string({ unit: 'binary' }).map(Buffer.from));
  fc.assert(
    fc.property(body, properties, (bytes, values) => {
      const text = printEvent(batch([locked({ body: bytes, properties: values })]), FACTS);
      const { Records } = parseExactJson(text ?? '', 'The event') as PushedEvent;
      const [record] = Records;
      assert.ok(record);
      const encoding = record.isBase64Encoded ? 'base64' : 'utf8';
      assert.deepEqual(Uint8Array.from(Buffer.from(record.body, encoding)), Uint8Array.from(bytes));
      const restored = readProperties(record.serviceBus.properties);
      assert.deepEqual(restored, { ...values, 'dynabus-hops': { type: 'int', value: 1 } });
      assert.ok(Object.hasOwn(record.messageAttributes, 'MessageId'));
    }),
  );
});
