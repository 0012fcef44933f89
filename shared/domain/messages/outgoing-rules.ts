import { BrokerError } from '../broker-error.ts';
import type { IngressSettings } from '../entities/descriptions.ts';
import { LIMITS } from '../limits.ts';
import { hasTwoOrderingKeys, type OutgoingMessage } from './message.ts';
import { propertiesBytes, requirePropertiesFit, utf8Bytes } from './property-limits.ts';

/** What a message must be before an entity takes it (semantics M3, M5, M16). */

/** Refuses a batch of more messages than there may be in one. Throws MessageSizeExceeded. */
export function requireBatchFits(messages: number): void {
  if (messages <= LIMITS.batchMessages) return;
  throw new BrokerError(
    'MessageSizeExceeded',
    `The batch has ${messages} messages; the limit is ${LIMITS.batchMessages}.`,
    BAD,
  );
}

/** Refuses what no entity may hold. Throws ArgumentError, InvalidOperation, MessageSizeExceeded. */
export function requireSendableMessages(
  messages: readonly OutgoingMessage[],
  { maxMessageSizeInKilobytes }: Pick<IngressSettings, 'maxMessageSizeInKilobytes'>,
): void {
  if (messages.length === 0) {
    throw new BrokerError('ArgumentError', 'A batch holds at least one message.', BAD);
  }
  requireBatchFits(messages.length);
  const messageBytesMax = maxMessageSizeInKilobytes * 1024;
  let total = 0;
  for (const message of messages) {
    requireValid(message);
    const size = sentSize(message);
    if (size > messageBytesMax) throw tooLarge('message', size, messageBytesMax);
    total += size;
  }
  const batchBytesMax = Math.max(messageBytesMax, LIMITS.batchBytes);
  if (total > batchBytesMax) throw tooLarge('batch', total, batchBytesMax);
}

/** Refuses messages without a session where there must be one (semantics M17). Throws InvalidOperation. */
export function requireSessionIds(messages: readonly OutgoingMessage[]): void {
  if (messages.every(({ sessionId }) => sessionId !== undefined)) return;
  throw new BrokerError(
    'InvalidOperation',
    'The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have session support enabled can only receive messages that have the SessionId set to a valid value.',
    BAD,
  );
}

const BAD = { subCode: '40000' } as const;

/** The refusal of a message or batch of so many bytes. */
export function tooLarge(what: 'message' | 'batch', size: number, limit: number): BrokerError {
  return new BrokerError(
    'MessageSizeExceeded',
    `The ${what} is ${size} bytes long, which is more than the ${limit} bytes that this entity allows.`,
    BAD,
  );
}

function requireValid(message: OutgoingMessage): void {
  requireId('MessageId', message.messageId);
  requireId('SessionId', message.sessionId);
  requireId('PartitionKey', message.partitionKey);
  requireId('ViaPartitionKey', message.viaPartitionKey);
  requireId('ReplyToSessionId', message.replyToSessionId);
  const { sessionId, partitionKey, timeToLiveMs } = message;
  if (hasTwoOrderingKeys(message)) {
    throw new BrokerError(
      'InvalidOperation',
      `PartitionKey '${partitionKey}' and SessionId '${sessionId}' are both set and differ; they must be the same.`,
    );
  }
  if (timeToLiveMs !== undefined && !(timeToLiveMs > 0)) {
    throw new BrokerError('ArgumentError', 'TimeToLive must be greater than zero.', BAD);
  }
  requireInstant('ScheduledEnqueueTimeUtc', message.scheduledEnqueueAt);
  requirePropertiesFit(message.properties, systemSize(message));
}

function requireInstant(name: string, ms: number | undefined): void {
  if (ms === undefined || (ms >= LIMITS.instantMin && ms <= LIMITS.instantMax)) return;
  throw new BrokerError('ArgumentError', `${name} must be an instant of the years 1 to 9999.`, BAD);
}

function requireId(name: string, value: string | undefined): void {
  if (value === undefined || value.length <= LIMITS.idLength) return;
  throw new BrokerError(
    'ArgumentError',
    `${name} is ${value.length} characters long; the limit is ${LIMITS.idLength}.`,
    BAD,
  );
}

/** What a message takes, in bytes: its body, all its properties, and what only AMQP has a place for. */
export function messageSize(message: OutgoingMessage): number {
  return message.body.byteLength + amqpSize(message) + headerSize(message);
}

/** What was sent of a message, in bytes: what stands both in its body and in `amqp` came only once. */
function sentSize(message: OutgoingMessage): number {
  const twice = message.bodyShowsAmqp ? Math.min(message.body.byteLength, amqpSize(message)) : 0;
  return messageSize(message) - twice;
}

function amqpSize({ amqp }: OutgoingMessage): number {
  return amqp?.byteLength ?? 0;
}

/** The properties of a message, its own and the system's, in bytes. */
export function headerSize(message: OutgoingMessage): number {
  return propertiesBytes(message.properties) + systemSize(message);
}

function systemSize(message: OutgoingMessage): number {
  const texts = [
    message.messageId,
    message.sessionId,
    message.partitionKey,
    message.viaPartitionKey,
    message.correlationId,
    message.label,
    message.contentType,
    message.replyTo,
    message.replyToSessionId,
    message.to,
  ];
  return texts.reduce((sum, value) => sum + (value === undefined ? 0 : utf8Bytes(value)), 0);
}
