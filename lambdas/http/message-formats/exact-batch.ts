import { BATCH_FORMAT, readDelivery } from '../../../amqp/messages/read-message.ts';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { writeMessage } from '../../../amqp/messages/write-message.ts';
import { WritingTurns } from '../../../amqp/messages/writing-turns.ts';
import { binary, described, mapOf, str } from '../../../amqp/wire/value.ts';
import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { tooLarge } from '../../../shared/domain/messages/outgoing-rules.ts';
import type { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';
import { type BodyAccount, type BodyLimit, plainLimit } from '../routing/request-body.ts';

const { encodingBytes, encodingMessageBytes, turnBytes, batchBytesPerByte } = BUDGETS.delivery;
/** What the encoding may add to the size of the messages: once, and for each of them as in a schedule request. */
const ENCODING_BYTES = encodingBytes + LIMITS.batchMessages * encodingMessageBytes;

/**
 * The limit of a body in this format for an entity whose messages may have `messageBytes`. Their sizes are checked once
 * they are decoded.
 */
export function exactLimit(messageBytes: number): BodyLimit {
  const bytes = Math.max(messageBytes, LIMITS.batchBytes) + ENCODING_BYTES;
  const tooLong = (length: number) => tooLarge('batch', length, bytes);
  return { ...plainLimit(bytes, tooLong), turnBytes: turnBytes / batchBytesPerByte };
}

/**
 * Decodes the messages of a body, and counts the memory that they take beside its bytes. Throws ArgumentError;
 * MessageSizeExceeded for too many messages; ServiceBusy where no memory is left.
 */
export function readExactBatch(
  body: Uint8Array,
  account: Pick<BodyAccount, 'hold'>,
): readonly OutgoingMessage[] {
  // What is decoded copies the bytes once more.
  account.hold(body.byteLength);
  const messages = readDelivery(body, BATCH_FORMAT, (bytes) => account.hold(bytes));
  if (messages.length === 0) throw argumentError('The batch holds no message.');
  return messages;
}

/**
 * Encodes messages, many of them in turns of the event loop for `request`. `texts` become the application properties of
 * the message around them.
 */
export async function writeExactBatch(
  messages: readonly ReceivedMessage[],
  texts: Readonly<Record<string, string>>,
  workTurns: Pick<WorkTurns, 'next'>,
  request: Request,
): Promise<Buffer> {
  const turns = new WritingTurns(workTurns, request);
  const encoded: Buffer[] = [];
  for (const message of messages) {
    await turns.before(message);
    encoded.push(writeMessage(message));
  }
  const properties = Object.entries(texts).map(([name, text]) => [name, str(text)] as const);
  return writeSections({
    ...(properties.length === 0
      ? {}
      : { applicationProperties: mapOf(Object.fromEntries(properties)) }),
    body: encoded.map((bytes) => described(SECTION.data, binary(bytes))),
  });
}
