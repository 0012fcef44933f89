import { BrokerError } from './broker-error.ts';
import type { IngressSettings } from './descriptions.ts';
import { LIMITS } from './limits.ts';
import type { OutgoingMessage } from './message.ts';
import type { Properties, PropertyValue } from './property-value.ts';

/** What a message must be before an entity takes it (semantics §1.8, §3.2). */

/** Refuses what no entity may hold. Throws ArgumentError, InvalidOperation, MessageSizeExceeded. */
export function requireSendableMessages(
  messages: readonly OutgoingMessage[],
  { maxMessageSizeInKilobytes }: Pick<IngressSettings, 'maxMessageSizeInKilobytes'>,
): void {
  if (messages.length === 0) {
    throw new BrokerError('ArgumentError', 'A batch holds at least one message.', BAD);
  }
  if (messages.length > LIMITS.batchMessages) {
    throw new BrokerError(
      'MessageSizeExceeded',
      `The batch has ${messages.length} messages; the limit is ${LIMITS.batchMessages}.`,
      BAD,
    );
  }
  const messageBytesMax = maxMessageSizeInKilobytes * 1024;
  let total = 0;
  for (const message of messages) {
    requireValid(message);
    const size = messageSize(message);
    if (size > messageBytesMax) throw tooLarge('message', size, messageBytesMax);
    total += size;
  }
  const batchBytesMax = Math.max(messageBytesMax, LIMITS.batchBytes);
  if (total > batchBytesMax) throw tooLarge('batch', total, batchBytesMax);
}

const BAD = { subCode: '40000' } as const;

function tooLarge(what: string, size: number, limit: number): BrokerError {
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
  if (sessionId !== undefined && partitionKey !== undefined && sessionId !== partitionKey) {
    throw new BrokerError(
      'InvalidOperation',
      `PartitionKey '${partitionKey}' and SessionId '${sessionId}' are both set and differ; they must be the same.`,
    );
  }
  if (timeToLiveMs !== undefined && !(timeToLiveMs > 0)) {
    throw new BrokerError('ArgumentError', 'TimeToLive must be greater than zero.', BAD);
  }
  requireProperties(message.properties, systemSize(message));
}

function requireId(name: string, value: string | undefined): void {
  if (value === undefined || value.length <= LIMITS.idLength) return;
  throw new BrokerError(
    'ArgumentError',
    `${name} is ${value.length} characters long; the limit is ${LIMITS.idLength}.`,
    BAD,
  );
}

/** Refuses application properties that no message may carry. Throws ArgumentError. */
export function requireProperties(properties: Properties, systemBytes = 0): void {
  for (const [name, value] of Object.entries(properties)) {
    const size = valueSize(value);
    if (size <= LIMITS.propertyValueBytes) continue;
    throw new BrokerError(
      'ArgumentError',
      `The value of property '${name.slice(0, 64)}' is ${size} bytes long; the limit is ${LIMITS.propertyValueBytes}.`,
      BAD,
    );
  }
  const size = propertiesSize(properties) + systemBytes;
  if (size <= LIMITS.propertiesBytes) return;
  throw new BrokerError(
    'ArgumentError',
    `The properties of the message are ${size} bytes long together; the limit is ${LIMITS.propertiesBytes}.`,
    BAD,
  );
}

/** What counts towards the size of a message: its body and all its properties, in bytes. */
export function messageSize(message: OutgoingMessage): number {
  return message.body.byteLength + headerSize(message);
}

/** The properties of a message, its own and the system's, in bytes. */
export function headerSize(message: OutgoingMessage): number {
  return propertiesSize(message.properties) + systemSize(message);
}

function propertiesSize(properties: Properties): number {
  return Object.entries(properties).reduce(
    (sum, [name, value]) => sum + utf8Length(name) + valueSize(value),
    0,
  );
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
  return texts.reduce((sum, value) => sum + (value === undefined ? 0 : utf8Length(value)), 0);
}

const SCALAR_BYTES = 8;
const GUID_BYTES = 16;

function valueSize(property: PropertyValue): number {
  switch (property.type) {
    case 'null':
    case 'boolean':
      return 1;
    case 'string':
    case 'char':
    case 'uri':
      return utf8Length(property.value);
    case 'guid':
      return GUID_BYTES;
    case 'bytes':
    case 'decimal':
      return property.value.byteLength;
    default:
      return SCALAR_BYTES;
  }
}

/** Bytes of a text in UTF-8. */
function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    // Each half of a surrogate pair counts two: four together.
    else if (unit >= 0xd800 && unit <= 0xdfff) bytes += 2;
    else bytes += 3;
  }
  return bytes;
}
