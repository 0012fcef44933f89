import { LIMITS } from '../../shared/domain/limits.ts';
import type { StoredMessage } from '../../shared/domain/messages/message.ts';
import { packAmqpOnly, unpackAmqpOnly } from '../messages/amqp-only-sections.ts';
import { writeMessage } from '../messages/write-message.ts';
import { present } from '../wire/present.ts';
import { type AmqpValue, bigintOf, binary, int, list, mapOf } from '../wire/value.ts';
import { Body, messageBytesMax, type OperationRequest } from './operation.ts';
import { writeEach } from './write-each.ts';

/** The vendor's largest, too (semantics L14). */
const DELETE_MAX = 4000;

/** What `peek` may read, bytes. */
export async function peekedBytes(asked: OperationRequest): Promise<number> {
  return Math.max(LIMITS.peekBytes, await messageBytesMax(asked));
}

/** Shows messages without touching them. */
export async function peek({
  context,
  path,
  body,
}: OperationRequest): Promise<AmqpValue | undefined> {
  const fields = new Body(body);
  const from = bigintOf(fields.at('from-sequence-number'));
  const sessionId = fields.text('session-id');
  const messages = await context.dependencies.broker.peek(path, {
    maxMessages: fields.requiredCount('message-count', LIMITS.peekMessages),
    ...(from === undefined ? {} : { fromSequenceNumber: from }),
    ...(sessionId === undefined ? {} : { sessionId }),
  });
  if (messages.length === 0) return undefined;
  const omit = fields.at('omit-message-body');
  const isBare = omit?.type === 'boolean' && omit.value;
  const entries = await writeEach(context, messages, (message) =>
    mapOf({ message: binary(writeMessage(isBare ? withoutBody(message) : message)) }),
  );
  return mapOf({ messages: list(entries) });
}

/** All of a message but its body, in place of which there is not even an empty one. */
function withoutBody(stored: StoredMessage): StoredMessage {
  const { amqp: all, ...message } = stored.message;
  const amqp = packAmqpOnly({ ...unpackAmqpOnly(all), body: { kind: 'none' } });
  return { ...stored, message: { ...message, body: new Uint8Array(), ...present({ amqp }) } };
}

/** Removes messages that were enqueued before an instant; best effort, as the count tells. */
export async function deleteMessages({
  context,
  path,
  body,
}: OperationRequest): Promise<AmqpValue | undefined> {
  const fields = new Body(body);
  const sessionId = fields.text('session-id');
  const count = await context.dependencies.broker.deleteMessages(path, {
    maxMessages: fields.requiredCount('message-count', DELETE_MAX),
    before: fields.requiredNumber('enqueued-time-utc'),
    ...(sessionId === undefined ? {} : { sessionId }),
  });
  return count === 0 ? undefined : mapOf({ 'message-count': int(count) });
}
