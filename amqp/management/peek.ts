import { LIMITS } from '../../shared/domain/limits.ts';
import type { StoredMessage } from '../../shared/domain/messages/message.ts';
import { present } from '../../shared/domain/present.ts';
import { packAmqpOnly, unpackAmqpOnly } from '../messages/amqp-only-sections.ts';
import { writeMessage } from '../messages/write-message.ts';
import { type AmqpValue, bigintOf, binary, list, mapOf } from '../wire/value.ts';
import { Body, type Input, messageBytesMax } from './operation-input.ts';
import { writeEach } from './write-each.ts';

/** Returns the bytes that `peek` reads at most. */
export async function peekedBytes(input: Input): Promise<number> {
  return Math.max(LIMITS.peekBytes, await messageBytesMax(input));
}

/**
 * `peek-message`: returns messages without locking or changing them, undefined if there are none. Throws what
 * the broker's peek throws.
 */
export async function peek({ context, path, body }: Input): Promise<AmqpValue | undefined> {
  const fields = new Body(body);
  const messages = await context.dependencies.broker.peek(path, {
    // Below the first number is the front.
    fromSequenceNumber: front(bigintOf(fields.at('from-sequence-number'))),
    sessionId: fields.text('session-id'),
    maxMessages: fields.requiredCount('message-count', LIMITS.peekMessages),
  });
  if (messages.length === 0) return undefined;
  const omit = fields.at('omit-message-body');
  const isBare = omit?.type === 'boolean' && omit.value;
  const entries = await writeEach(context, messages, (message) =>
    mapOf({ message: binary(writeMessage(isBare ? withoutBody(message) : message)) }),
  );
  return mapOf({ messages: list(entries) });
}

function front(number: bigint | undefined): bigint | undefined {
  return number !== undefined && number < 0n ? undefined : number;
}

/** Returns a message without a body section, not even an empty one. */
function withoutBody(stored: StoredMessage): StoredMessage {
  const { amqp: all, ...message } = stored.message;
  const amqp = packAmqpOnly({ ...unpackAmqpOnly(all), body: { kind: 'none' } });
  return { ...stored, message: { ...message, body: new Uint8Array(), ...present({ amqp }) } };
}
