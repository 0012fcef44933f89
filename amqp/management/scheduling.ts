import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { tooLarge } from '../../shared/domain/messages/outgoing-rules.ts';
import { readMessages } from '../messages/read-message.ts';
import { type AmqpValue, array, fieldsOf, long, mapOf } from '../wire/value.ts';
import { Body, type Input, messageBytesMax } from './operation-input.ts';

/** Returned for a message without a sequence number, which cannot be cancelled. */
const NO_NUMBER = 0n;
const { encodingBytes: ENCODING_BYTES, encodingMessageBytes: ENCODING_MESSAGE_BYTES } =
  BUDGETS.delivery;

/**
 * `schedule-message`: stores messages to be enqueued later, or adds them to the request's transaction.
 * Returns their sequence numbers, by which they can be cancelled. Throws ArgumentError for an invalid
 * message, MessageSizeExceeded, and what a send throws.
 */
export async function schedule(input: Input): Promise<AmqpValue> {
  const { context, path, pathname, body, hold, enlistment } = input;
  const encoded = new Body(body).list('messages').map((entry) => {
    const message = fieldsOf(entry).get('message');
    if (message?.type !== 'binary') {
      throw new BrokerError('ArgumentError', "The field 'message' is missing, or of a wrong type.");
    }
    return message.value;
  });
  await requireBytesFit(input, encoded);
  const before = (bytes: number) => context.readingTurns.before(bytes, context);
  const messages = await readMessages(encoded, before, hold);
  if (messages.some(({ scheduledEnqueueAt }) => scheduledEnqueueAt === undefined)) {
    throw new BrokerError('ArgumentError', 'A scheduled message needs a scheduled enqueue time.');
  }
  if (enlistment !== undefined) {
    // Sequence numbers are assigned at the commit, but the client expects some in this reply.
    const need = { pathname, path, right: 'Send' } as const;
    enlistment.add({ kind: 'send', path, messages }, need);
    return numbered(messages.map(() => NO_NUMBER));
  }
  const sent = await context.dependencies.broker.send(path, messages);
  return numbered(sent.map(({ sequenceNumber }) => sequenceNumber ?? NO_NUMBER));
}

/** Throws MessageSizeExceeded, before decoding, if the encoded messages are too large for the entity. */
async function requireBytesFit(input: Input, encoded: readonly Uint8Array[]): Promise<void> {
  const encoding = ENCODING_BYTES + encoded.length * ENCODING_MESSAGE_BYTES;
  const bytes = encoded.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (bytes <= LIMITS.batchBytes + encoding) return;
  const bytesMax = Math.max(LIMITS.batchBytes, await messageBytesMax(input));
  if (bytes > bytesMax + encoding) throw tooLarge('batch', bytes, bytesMax);
}

function numbered(numbers: readonly bigint[]): AmqpValue {
  return mapOf({ 'sequence-numbers': array('long', numbers.map(long)) });
}

/** `cancel-scheduled-message`: deletes scheduled messages by sequence number. Throws MessageNotFound. */
export async function cancelScheduled({ context, path, body }: Input): Promise<AmqpValue> {
  await context.dependencies.broker.cancelScheduled(
    path,
    new Body(body).bigints('sequence-numbers'),
  );
  return mapOf({});
}
