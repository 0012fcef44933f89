import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { tooLarge } from '../../shared/domain/messages/outgoing-rules.ts';
import { readMessages } from '../messages/read-message.ts';
import { type AmqpValue, array, fieldsOf, long, mapOf } from '../wire/value.ts';
import { Body, messageBytesMax, type OperationRequest } from './operation.ts';

/** What stands for the number of a message that has none to be cancelled by. */
const NO_NUMBER = 0n;
const { encodingBytes: ENCODING_BYTES, encodingMessageBytes: ENCODING_MESSAGE_BYTES } =
  BUDGETS.delivery;

/** Stores messages for later, and answers with the numbers by which they can be cancelled. */
export async function schedule(asked: OperationRequest): Promise<AmqpValue> {
  const { context, path, pathname, body, hold, enlistment } = asked;
  const encoded = new Body(body).list('messages').map((entry) => {
    const message = fieldsOf(entry).get('message');
    if (message?.type !== 'binary') {
      throw new BrokerError('ArgumentError', "The field 'message' is missing, or of a wrong type.");
    }
    return message.value;
  });
  await requireBytesFit(asked, encoded);
  const before = (bytes: number) => context.readingTurns.before(bytes, context);
  const messages = await readMessages(encoded, before, hold);
  if (messages.some(({ scheduledEnqueueAt }) => scheduledEnqueueAt === undefined)) {
    throw new BrokerError('ArgumentError', 'A message to be scheduled must say for when.');
  }
  if (enlistment !== undefined) {
    // Numbers are given when the transaction is committed; the client wants to hear some now.
    const need = { pathname, path, right: 'Send' } as const;
    enlistment.add({ kind: 'send', path, messages }, need);
    return numbered(messages.map(() => NO_NUMBER));
  }
  const sent = await context.dependencies.broker.send(path, messages);
  return numbered(sent.map(({ sequenceNumber }) => sequenceNumber ?? NO_NUMBER));
}

/** Refuses what is too long for the entity before it is read. Throws MessageSizeExceeded. */
async function requireBytesFit(
  asked: OperationRequest,
  encoded: readonly Uint8Array[],
): Promise<void> {
  const encoding = ENCODING_BYTES + encoded.length * ENCODING_MESSAGE_BYTES;
  const bytes = encoded.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (bytes <= LIMITS.batchBytes + encoding) return;
  const bytesMax = Math.max(LIMITS.batchBytes, await messageBytesMax(asked));
  if (bytes > bytesMax + encoding) throw tooLarge('batch', bytes, bytesMax);
}

function numbered(numbers: readonly bigint[]): AmqpValue {
  return mapOf({ 'sequence-numbers': array('long', numbers.map(long)) });
}

export async function cancelScheduled({
  context,
  path,
  body,
}: OperationRequest): Promise<AmqpValue> {
  await context.dependencies.broker.cancelScheduled(
    path,
    new Body(body).bigints('sequence-numbers'),
  );
  return mapOf({});
}
