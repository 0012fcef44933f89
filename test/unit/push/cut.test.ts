import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  cut,
  EVENT_BYTES_MAX,
  EVENT_CLAIM_BYTES,
  printEvent,
} from '../../../lambdas/push/event/print-event.ts';
import { printRecord } from '../../../lambdas/push/event/record.ts';
import { CONSUMER_LIMITS } from '../../../shared/domain/consumers/consumer.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { LockedMessage } from '../../../shared/domain/messages/message.ts';
import { printedSize } from '../../../shared/domain/messages/printed-size.ts';
import { requirePropertiesFit } from '../../../shared/domain/messages/property-limits.ts';
import type { Properties } from '../../../shared/domain/messages/property-value.ts';
import type { Batch } from '../../../shared/push/ports.ts';
import { lockedMessage } from '../../support/locked-arbitraries.ts';
import { batch, consumer, entity, FACTS, locked } from './batches.ts';

const MB = 1024 * 1024;
/** The path of an entity is as long as it can be, and every optional attribute is there. */
const WIDEST: Partial<Batch> = {
  entity: entity('q'.repeat(LIMITS.entityPathLength), {
    ...QUEUE_DEFAULTS,
    requiresDuplicateDetection: true,
  }),
  consumer: consumer({ subQueue: 'transferDeadLetter' }),
};
const PER_PRINTED_BYTE = EVENT_BYTES_MAX / EVENT_CLAIM_BYTES;

const byteLength = (text: string | undefined): number => Buffer.byteLength(text ?? '');

const sized = (bytes: number, sequenceNumber: bigint): LockedMessage =>
  locked({ body: Buffer.alloc(bytes, 'a') }, { sequenceNumber });

const numbersOf = ({ messages }: Batch): readonly number[] =>
  messages.map(({ sequenceNumber }) => Number(sequenceNumber));

test('an event is as long as Lambda takes and no longer', () => {
  const room = EVENT_BYTES_MAX - byteLength(printEvent(batch([sized(0, 1n)]), FACTS));
  const full = printEvent(batch([sized(room, 1n)]), FACTS);
  assert.equal(byteLength(full), EVENT_BYTES_MAX);
  assert.ok(EVENT_BYTES_MAX < 6_291_456);
  assert.equal(printEvent(batch([sized(room + 1, 1n)]), FACTS), undefined);
});

test('a batch that is too long is cut, in order, into batches that fit', () => {
  const messages = [1n, 2n, 3n, 4n, 5n].map((number) => sized(2 * MB, number));
  const pushed = batch(messages, { sessionId: 'cart' });
  assert.equal(printEvent(pushed, FACTS), undefined);
  const { fits, tooLarge } = cut(pushed, FACTS);
  assert.deepEqual(fits.map(numbersOf), [[1, 2], [3, 4], [5]]);
  assert.deepEqual(tooLarge, []);
  for (const piece of fits) {
    assert.equal(piece.sessionId, 'cart');
    assert.notEqual(printEvent(piece, FACTS), undefined);
  }
});

test('a cut fills an event to its last byte', () => {
  const second = sized(1000, 2n);
  const rest = printEvent(batch([sized(0, 1n), second]), FACTS);
  const room = EVENT_BYTES_MAX - byteLength(rest);
  const whole = cut(batch([sized(room, 1n), second]), FACTS);
  assert.deepEqual(whole.fits.map(numbersOf), [[1, 2]]);
  const [both] = whole.fits;
  assert.ok(both);
  assert.equal(byteLength(printEvent(both, FACTS)), EVENT_BYTES_MAX);
  const tooLong = batch([sized(room + 1, 1n), second]);
  assert.equal(printEvent(tooLong, FACTS), undefined);
  const longer = cut(tooLong, FACTS);
  assert.deepEqual(longer.fits.map(numbersOf), [[1], [2]]);
});

test('a message that is too large alone is in no piece', () => {
  const messages = [sized(10, 1n), sized(7 * MB, 2n), sized(10, 3n)];
  const { fits, tooLarge } = cut(batch(messages), FACTS);
  assert.deepEqual(fits.map(numbersOf), [[1, 3]]);
  assert.deepEqual(tooLarge, [messages[1]]);
});

test('a text of control characters that would be too long is base64', () => {
  const message = locked({ body: Buffer.alloc(2 * MB, 0) });
  const [record] = JSON.parse(printEvent(batch([message]), FACTS) ?? '{}').Records;
  assert.equal(record.isBase64Encoded, true);
  assert.equal(Buffer.from(record.body, 'base64').length, 2 * MB);
});

/** As many one-digit integers under the shortest names as the properties of a message may be. */
function mostProperties(count: number): Properties {
  const names = Array.from({ length: count }, (_, i) => String.fromCharCode(...shortest(i)));
  const properties = Object.fromEntries(
    names.map((name) => [name, { type: 'int', value: 1 }] as const),
  );
  requirePropertiesFit(properties);
  return properties;
}

const FIRST = 0x23;
const LAST = 0x5b;

/** The characters of the name with this number: of those that JSON does not escape. */
function shortest(index: number): readonly number[] {
  const letters = LAST - FIRST;
  return index < letters
    ? [FIRST + index]
    : [...shortest(Math.floor(index / letters) - 1), FIRST + (index % letters)];
}

test('no message takes more bytes in an event than its size in the batch format allows', () => {
  const check = (message: LockedMessage) => {
    const pushed = batch([message], { ...WIDEST, sessionId: message.message.sessionId ?? '' });
    const bytes = byteLength(printRecord(pushed, message, FACTS)) + ','.length;
    assert.ok(bytes <= PER_PRINTED_BYTE * printedSize(message.message));
  };
  fc.assert(fc.property(lockedMessage, check));
  for (const count of [0, 1, 10, 56, 1000, 6000]) {
    check(locked({ body: new Uint8Array(), properties: mostProperties(count) }));
  }
});

test('messages within the bound of a claim fit one event', () => {
  for (const count of [0, 56, 6000]) {
    const message = locked({ body: new Uint8Array(), properties: mostProperties(count) });
    const fitting = Math.floor(EVENT_CLAIM_BYTES / printedSize(message.message));
    const messages = Array.from(
      { length: Math.min(fitting, CONSUMER_LIMITS.maxBatchMax) },
      (_, i) => ({
        ...message,
        sequenceNumber: 2n ** 63n - 1n - BigInt(i),
      }),
    );
    assert.notEqual(printEvent(batch(messages, WIDEST), FACTS), undefined, `${count} properties`);
  }
});

test('the bound of a claim is no lower than the worst messages need', () => {
  const message = locked({ body: new Uint8Array(), properties: mostProperties(6000) });
  const bytes = byteLength(printRecord(batch([message], WIDEST), message, FACTS));
  assert.ok(bytes > 12 * printedSize(message.message));
});
