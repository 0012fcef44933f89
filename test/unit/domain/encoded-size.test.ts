import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readReceived } from '../../../amqp/messages/read-received.ts';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { writeMessage } from '../../../amqp/messages/write-message.ts';
import { binary, described } from '../../../amqp/wire/value.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import {
  encodedPropertiesSize,
  encodedSize,
  encodedSizeBound,
} from '../../../shared/domain/messages/encoded-size.ts';
import type { LockedMessage, Message } from '../../../shared/domain/messages/message.ts';
import { messageSize } from '../../../shared/domain/messages/outgoing-rules.ts';
import { printedSize } from '../../../shared/domain/messages/printed-size.ts';
import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { properties, wholeText } from '../../support/message-arbitraries.ts';
import { amqpSent } from '../../support/sent-messages.ts';

/** Bytes that the store counts in addition to each message. */
const OVERHEAD_BYTES = 64;

const anyText = fc.oneof(
  wholeText,
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.constantFrom('\ud800', 'a\udc00b', '\ud83d\ude00\ud83d'),
);
const instant = fc.integer({ min: LIMITS.instantMin, max: LIMITS.instantMax });
const int64 = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });

/** What the broker adds to a message, always in the longest form. */
const added = fc.record(
  {
    correlationId: anyText,
    deadLetterSource: anyText,
    enqueuedSequenceNumber: int64,
    label: anyText,
    partitionKey: anyText,
    replyTo: anyText,
    replyToSessionId: anyText,
    scheduledEnqueueAt: instant,
    sessionId: anyText,
    timeToLiveMs: fc.integer({ min: 1, max: 1e12 }),
    to: anyText,
    contentType: anyText,
    viaPartitionKey: anyText,
  },
  { requiredKeys: [] },
);

/** Messages of AMQP senders, and of others; a forward may add fields to both. */
const message: fc.Arbitrary<Message> = fc.oneof(
  fc
    .record({ messageId: anyText, body: fc.uint8Array({ maxLength: 600 }), properties, added })
    .map(({ added: more, ...one }) => ({ ...one, ...more })),
  fc
    .record({ messageId: anyText, sent: amqpSent, properties, added })
    .map(({ messageId, sent, properties: changed, added: more }) => ({
      ...sent,
      messageId: sent.messageId ?? messageId,
      properties: { ...sent.properties, ...changed },
      ...more,
    })),
);

function received(one: Message): LockedMessage {
  return {
    message: one,
    sequenceNumber: 2n ** 62n,
    enqueuedAt: Date.UTC(2026, 0, 1),
    failedDeliveries: LIMITS.maxDeliveryCountMax,
    state: 'Scheduled',
    timeToLiveMs: one.timeToLiveMs ?? 1e12,
    lockToken: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547',
    lockedUntil: Date.UTC(2026, 0, 1),
  };
}

/** The bytes that a message adds to an answer. */
function encoded(one: Message): number {
  return writeSections({ body: [described(SECTION.data, binary(writeMessage(received(one))))] })
    .byteLength;
}

const ofTotals = (messages: readonly Message[]): number =>
  encodedSizeBound(
    messages.reduce((sum, one) => sum + messageSize(one) + OVERHEAD_BYTES, 0),
    messages.length,
    messages.reduce((sum, one) => sum + printedSize(one), 0),
  );

test('no message is encoded longer than its bound', () => {
  fc.assert(
    fc.property(message, (one) => {
      const bound = encodedSize(one);
      assert.ok(encoded(one) <= bound, `${encoded(one)} > ${bound}`);
    }),
    { numRuns: 2000 },
  );
});

test('no messages are encoded longer than the bound that follows from their totals', () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 3 }), (all) => {
      const bytes = all.reduce((sum, one) => sum + encoded(one), 0);
      assert.ok(bytes <= ofTotals(all), `${bytes} > ${ofTotals(all)}`);
    }),
    { numRuns: 2000 },
  );
});

test('the bound is sharp for a message that has every field, each in its longest form', () => {
  const text = 'x'.repeat(300);
  const texts = ['to', 'label', 'replyTo', 'correlationId', 'contentType', 'sessionId'];
  const more = ['replyToSessionId', 'partitionKey', 'viaPartitionKey', 'deadLetterSource'];
  const one: Message = {
    messageId: text,
    body: new Uint8Array(300),
    ...Object.fromEntries([...texts, ...more].map((name) => [name, text])),
    properties: { [text]: { type: 'string', value: text } },
    scheduledEnqueueAt: Date.UTC(2026, 0, 1),
    timeToLiveMs: 1e12,
    enqueuedSequenceNumber: 2n ** 62n,
  };
  const slack = encodedSize(one) - encoded(one);
  assert.ok(slack >= 0 && slack <= 128, `${slack} bytes`);
});

const SHORT_VALUES: readonly PropertyValue[] = [
  { type: 'null' },
  { type: 'string', value: '' },
  { type: 'uri', value: '' },
  { type: 'int', value: 7 },
  { type: 'double', value: 0.5 },
  { type: 'timeSpan', value: 0n },
  { type: 'dateTimeOffset', value: 0n },
  { type: 'bytes', value: new Uint8Array() },
];

for (const value of SHORT_VALUES) {
  test(`the bounds hold for very many properties of the type ${value.type} with short names`, () => {
    const names = Array.from({ length: 5000 }, (_, i) => i.toString(36));
    const all: Properties = Object.fromEntries(['', ...names].map((name) => [name, value]));
    const one = { messageId: '', body: new Uint8Array(), properties: all };
    assert.ok(encoded(one) <= encodedSize(one));
    assert.ok(encoded(one) <= ofTotals([one]));
    const bare = { ...one, properties: {} };
    assert.ok(encoded(one) - encoded(bare) <= encodedPropertiesSize(all) + 12);
  });
}

test('the bounds are close to the size of messages that are mostly body, or small', () => {
  const large = { messageId: 'm', body: new Uint8Array(3_000_000), properties: {} };
  assert.ok(encodedSize(large) < 3_001_000);
  const small = { messageId: 'm', body: new Uint8Array(1024).fill(0x61), properties: {} };
  assert.ok(ofTotals(Array.from({ length: 500 }, () => small)) < LIMITS.answerBytes);
});

test('what was measured is what a client decodes', () => {
  fc.assert(
    fc.property(amqpSent, (sent) => {
      const bytes = writeMessage(received({ messageId: 'given', ...sent }));
      assert.equal(writeMessage(readReceived(bytes)).toString('hex'), bytes.toString('hex'));
    }),
  );
});
