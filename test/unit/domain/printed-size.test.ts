import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBatch, printBatch } from '../../../lambdas/http/format/batch-format.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { LockedMessage, Message } from '../../../shared/domain/messages/message.ts';
import { messageSize } from '../../../shared/domain/messages/outgoing-rules.ts';
import {
  printedPropertiesSize,
  printedSize,
  printedSizeBound,
} from '../../../shared/domain/messages/printed-size.ts';
import type { Properties } from '../../../shared/domain/messages/property-value.ts';
import { anyMessage, lockedMessage } from '../../support/locked-arbitraries.ts';
import { properties } from '../../support/message-arbitraries.ts';

const KB = 1024;
/** Bytes that the store counts in addition to each message. */
const OVERHEAD_BYTES = 64;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The bytes that a message adds to a list of messages. */
function printed(one: LockedMessage): number {
  return bytesOf(printBatch([one, one])).length - bytesOf(printBatch([one])).length;
}

function locked(body: Uint8Array, more: Partial<Message> = {}): LockedMessage {
  return {
    message: { messageId: '0123456789abcdef0123456789abcdef', body, properties: {}, ...more },
    sequenceNumber: 1234n,
    enqueuedAt: Date.UTC(2026, 0, 1),
    failedDeliveries: 0,
    state: 'Active',
    lockToken: '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547',
    lockedUntil: Date.UTC(2026, 0, 1),
  };
}

test('no message prints longer than its bound', () => {
  fc.assert(
    fc.property(lockedMessage, (one) => {
      const bound = printedSize(one.message);
      assert.ok(printed(one) <= bound, `${printed(one)} > ${bound}`);
    }),
    { numRuns: 2000 },
  );
});

test('no message prints longer than the bound that follows from its size alone', () => {
  fc.assert(
    fc.property(lockedMessage, (one) => {
      const bound = printedSizeBound(messageSize(one.message) + OVERHEAD_BYTES, 1);
      // The dead-letter source of a message is not part of its size.
      const { deadLetterSource: _, ...sized } = one.message;
      assert.ok(printed({ ...one, message: sized }) <= bound);
    }),
    { numRuns: 2000 },
  );
});

/** Names of up to three control characters, or plain ones, with the values that print longest. */
function longProperties(count: number, alphabet: readonly string[], value: Properties[string]) {
  const names: string[] = [''];
  for (let i = 0; names.length < count; i++) {
    for (const unit of alphabet) names.push(`${names[i]}${unit}`);
  }
  return Object.fromEntries(names.slice(0, count).map((name) => [name, value]));
}

const CONTROLS = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code));
const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

for (const [what, alphabet] of [
  ['control characters', CONTROLS],
  ['any characters', ASCII],
] as const) {
  for (const value of [
    { type: 'bytes', value: new Uint8Array() },
    { type: 'char', value: '\u0001' },
    { type: 'boolean', value: false },
    { type: 'dateTimeOffset', value: -(2n ** 63n) },
  ] as const) {
    test(`properties named by ${what} with values of ${value.type} stay within both bounds`, () => {
      for (const count of [1, 2, 33, 129, 1000, 8000]) {
        const one = locked(bytesOf(''), { properties: longProperties(count, alphabet, value) });
        assert.ok(printed(one) <= printedSize(one.message));
        const bytes = messageSize(one.message) + OVERHEAD_BYTES;
        assert.ok(printed(one) <= printedSizeBound(bytes, 1), `${count} properties`);
      }
    });
  }
}

test('properties that are added to a message add no more than their bound', () => {
  fc.assert(
    fc.property(anyMessage, properties, (before, added) => {
      const plain = locked(before.body, { properties: before.properties });
      const changed = locked(before.body, { properties: { ...before.properties, ...added } });
      assert.ok(printed(changed) - printed(plain) <= printedPropertiesSize(added));
    }),
  );
});

const TYPICAL: readonly (readonly [string, Uint8Array])[] = [
  ['a JSON document', bytesOf(JSON.stringify({ id: 'ord_1', items: [1, 2, 3], express: true }))],
  ['a large JSON document', bytesOf(JSON.stringify(Array(2000).fill({ sku: 'SKU', price: 7.5 })))],
  ['text in Chinese', bytesOf('服务总线'.repeat(500))],
  ['binary bytes', randomBytes(10 * KB)],
  ['quotes', bytesOf('"'.repeat(5000))],
  ['an empty body', bytesOf('')],
];
for (const [what, body] of TYPICAL) {
  test(`the bound of ${what} is close to its printed size`, () => {
    const one = locked(body, { properties: { kind: { type: 'string', value: 'order' } } });
    const bound = printedSize(one.message);
    assert.ok(bound >= printed(one));
    assert.ok(bound <= 1.3 * printed(one) + KB, `${bound} for ${printed(one)}`);
  });
}

for (const [what, body] of [
  ['binary bytes', randomBytes(LIMITS.answerBytes + 1)],
  ['text', bytesOf('x'.repeat(LIMITS.answerBytes + 1))],
  ['control characters', bytesOf('\u0001'.repeat(LIMITS.answerBytes + 1))],
] as const) {
  test(`a body of ${what} that fits in no form prints no longer than its bound`, () => {
    const one = locked(body);
    const bytes = bytesOf(printBatch([one])).length;
    assert.ok(bytes > LIMITS.answerBytes && bytes <= printedSize(one.message) + '[]'.length);
  });
}

test('text that prints too long prints as base64 only if that is shorter', () => {
  const printsAs = (body: Uint8Array) => {
    const [message] = JSON.parse(printBatch([locked(body)])) as { BodyEncoding?: string }[];
    return message?.BodyEncoding ?? 'text';
  };
  const fits = Math.floor((LIMITS.answerBytes - 2 * KB) / 6);
  assert.equal(printsAs(bytesOf('\u0001'.repeat(fits))), 'text');
  assert.equal(printsAs(bytesOf('\u0001'.repeat(fits + KB))), 'base64');
  assert.equal(printsAs(bytesOf('x'.repeat(LIMITS.answerBytes + 1))), 'text');
  for (const body of [bytesOf('\u0001'.repeat(fits + KB)), bytesOf('"'.repeat(3 * 1024 * KB))]) {
    const one = locked(body);
    assert.ok(printed(one) <= printedSize(one.message));
    const [read] = parseBatch(bytesOf(printBatch([one])));
    assert.deepEqual(Buffer.from(read?.body ?? []), Buffer.from(body));
  }
});
