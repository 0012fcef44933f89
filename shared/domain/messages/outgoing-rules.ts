import {
  argumentError,
  type BrokerError,
  invalidOperation,
  messageSizeExceeded,
} from '../broker-error.ts';
import type { IngressSettings } from '../entities/descriptions.ts';
import { LIMITS } from '../limits.ts';
import { hasTwoOrderingKeys, type OutgoingMessage } from './message.ts';
import { propertiesBytes, requirePropertiesFit, utf8Bytes } from './property-limits.ts';

/** Throws MessageSizeExceeded for a batch with too many messages (semantics M22). */
export function requireBatchFits(messages: number): void {
  if (messages <= LIMITS.batchMessages) return;
  throw messageSizeExceeded(
    `The batch has ${messages} messages; the limit is ${LIMITS.batchMessages}.`,
    BAD,
  );
}

/**
 * Checks the messages of one send: ids, times, sizes of messages and batch (semantics M22). Throws ArgumentError,
 * InvalidOperation, MessageSizeExceeded.
 */
export function requireSendableMessages(
  messages: readonly OutgoingMessage[],
  { maxMessageSizeInKilobytes }: Pick<IngressSettings, 'maxMessageSizeInKilobytes'>,
): void {
  if (messages.length === 0) {
    throw argumentError('A batch holds at least one message.');
  }
  requireBatchFits(messages.length);
  const messageBytesMax = maxMessageSizeInKilobytes * 1024;
  let total = 0;
  for (const message of messages) {
    requireValid(message);
    const size = sentSize(message);
    // Also over AMQP, for what its link has accepted (semantics M16, W21).
    if (size > messageBytesMax) throw tooLarge('message', size, messageBytesMax);
    total += size;
  }
  const batchBytesMax = Math.max(messageBytesMax, LIMITS.batchBytes);
  if (total > batchBytesMax) throw tooLarge('batch', total, batchBytesMax);
}

/**
 * Throws InvalidOperation if a message to an entity that requires sessions has no session id (semantics M17, #84). The
 * empty text is one (semantics M4).
 */
export function requireSessionIds(messages: readonly OutgoingMessage[]): void {
  if (messages.every(({ sessionId }) => sessionId !== undefined)) return;
  throw invalidOperation(
    'The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have session support enabled can only receive messages that have the SessionId set to a valid value.',
    BAD,
  );
}

const BAD = { subCode: '40000' } as const;

/** MessageSizeExceeded: a message or batch of `size` bytes is too large, so all of it is refused (semantics #158). */
export function tooLarge(what: 'message' | 'batch', size: number, limit: number): BrokerError {
  return messageSizeExceeded(
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
  // The keys must be equal (semantics M5, #134).
  if (hasTwoOrderingKeys(message)) {
    throw invalidOperation(
      `PartitionKey '${partitionKey}' and SessionId '${sessionId}' are both set and differ; they must be the same.`,
    );
  }
  // The bounds of a time to live and of a scheduled time (semantics #59, M20).
  if (timeToLiveMs !== undefined && !(timeToLiveMs > 0)) {
    throw argumentError('TimeToLive must be greater than zero.');
  }
  requireInstant('ScheduledEnqueueTimeUtc', message.scheduledEnqueueAt);
  requirePropertiesFit(message.properties, systemSize(message));
}

function requireInstant(name: string, ms: number | undefined): void {
  if (ms === undefined || (ms >= LIMITS.instantMin && ms <= LIMITS.instantMax)) return;
  throw argumentError(`${name} must be an instant of the years 1 to 9999.`);
}

/** Throws ArgumentError for an id that is too long (semantics M3). */
function requireId(name: string, value: string | undefined): void {
  if (value === undefined || value.length <= LIMITS.idLength) return;
  throw argumentError(
    `${name} is ${value.length} characters long; the limit is ${LIMITS.idLength}.`,
  );
}

/** The size of a message in bytes: its body, all its properties, and its AMQP-only sections. */
export function messageSize(message: OutgoingMessage): number {
  return message.body.byteLength + amqpSize(message) + headerSize(message);
}

/** The size of a message as it was sent, bytes. A body that only renders `amqp` does not count twice. */
function sentSize(message: OutgoingMessage): number {
  const twice = message.bodyShowsAmqp ? Math.min(message.body.byteLength, amqpSize(message)) : 0;
  return messageSize(message) - twice;
}

function amqpSize({ amqp }: OutgoingMessage): number {
  return amqp?.byteLength ?? 0;
}

/** The size of the application and system properties of a message, bytes. */
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
