import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readMessages } from '../../../amqp/messages/read-message.ts';
import { readReceived } from '../../../amqp/messages/read-received.ts';
import { writeMessage, writeOutgoing } from '../../../amqp/messages/write-message.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { sentBytes } from '../../support/sent-messages.ts';

/** What a client sends, and what a receiver gets, is the same after it was encoded and decoded once more. */

const optional = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: undefined });
const instant = fc.integer({ min: 0, max: 4_000_000_000_000 });

async function read(bytes: Uint8Array): Promise<OutgoingMessage> {
  const [message] = await readMessages([bytes]);
  assert.ok(message);
  return message;
}

/** A message as a receiver gets it. */
function shown(message: OutgoingMessage): string {
  const own = { sequenceNumber: 1n, enqueuedAt: 1, failedDeliveries: 0, state: 'Active' } as const;
  return writeMessage({ message: { messageId: 'given', ...message }, ...own }).toString('hex');
}

test('a message that was encoded again is the same message', async () => {
  await fc.assert(
    fc.asyncProperty(sentBytes, async (bytes) => {
      const message = await read(bytes);
      const again = await read(writeOutgoing(message));
      // The typed form of an empty id, which the broker replaces, is the only thing that is not kept.
      assert.deepEqual({ ...again, amqp: undefined }, { ...message, amqp: undefined });
      assert.equal(shown(again), shown(message));
    }),
    { numRuns: 1000 },
  );
});

test('a message as a receiver gets it can be encoded from what was decoded', async () => {
  const stored = fc.record({
    bytes: sentBytes,
    sequenceNumber: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }),
    enqueuedAt: instant,
    failedDeliveries: fc.nat(20),
    state: fc.constantFrom('Active', 'Deferred', 'Scheduled'),
    timeToLiveMs: optional(fc.integer({ min: 1, max: 2 ** 45 })),
    enqueuedSequenceNumber: optional(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })),
    deadLetterSource: optional(fc.string({ minLength: 1 })),
    lock: optional(fc.record({ lockToken: fc.uuid(), lockedUntil: instant })),
  });
  await fc.assert(
    fc.asyncProperty(stored, async (all) => {
      const { bytes, enqueuedSequenceNumber, deadLetterSource, lock, timeToLiveMs, ...more } = all;
      const message = {
        ...(await read(bytes)),
        messageId: 'given',
        ...(enqueuedSequenceNumber !== undefined && { enqueuedSequenceNumber }),
        ...(deadLetterSource !== undefined && { deadLetterSource }),
      };
      const received = { message, ...more, ...lock, ...(timeToLiveMs && { timeToLiveMs }) };
      const once = writeMessage(received);
      assert.equal(writeMessage(readReceived(once)).toString('hex'), once.toString('hex'));
    }),
    { numRuns: 1000 },
  );
});
