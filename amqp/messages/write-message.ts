import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { shownPartitionKey } from '../../shared/domain/messages/message.ts';
import { present } from '../../shared/domain/present.ts';
import { trimmed } from '../wire/fields.ts';
import {
  type AmqpValue,
  bool,
  int,
  long,
  type MapEntry,
  mapOf,
  numberOf,
  str,
  symbol,
  timestamp,
  uint,
  uuid,
} from '../wire/value.ts';
import { type AmqpOnly, unpackAmqpOnly } from './amqp-only-sections.ts';
import { ANNOTATION, HEADER, LOCK_TOKEN, PROPERTY } from './annotations.ts';
import { writeBody } from './bodies.ts';
import { idText } from './json-text.ts';
import { fromProperties, guidBytes } from './property-values.ts';
import { writeSections } from './sections.ts';

const STATES = { Active: 0, Deferred: 1, Scheduled: 2 } as const;
/** The header's time to live has 32 bits (semantics W18). */
const HEADER_TTL_MAX = 0xffff_ffff;

/** Changes the state of a received message to Scheduled if it was sent as scheduled, as the vendor's service does. */
export function withScheduledState(received: ReceivedMessage): ReceivedMessage {
  const wasScheduled = received.message.scheduledEnqueueAt === received.enqueuedAt;
  return wasScheduled && received.state === 'Active'
    ? { ...received, state: 'Scheduled' }
    : received;
}

/**
 * Returns a message with the end of its lock as clients are told: by `shown`, epoch ms to epoch ms; absent = as it is.
 */
export function withLockEndShown(
  received: ReceivedMessage,
  shown: ((lockedUntil: number) => number) | undefined,
): ReceivedMessage {
  if (shown === undefined || !('lockedUntil' in received)) return received;
  return { ...received, lockedUntil: shown(received.lockedUntil) };
}

/** Encodes a message for a receiver or a peek (semantics W16, W17). */
export function writeMessage(stored: ReceivedMessage): Buffer {
  const { message } = stored;
  const amqpOnly = unpackAmqpOnly(message.amqp);
  const applicationProperties = fromProperties(message.properties, amqpOnly.others);
  return writeSections({
    header: header(stored, amqpOnly),
    ...present({ deliveryAnnotations: deliveryAnnotations(stored, amqpOnly) }),
    annotations: annotations(stored, amqpOnly),
    properties: properties(stored, amqpOnly),
    ...(applicationProperties === undefined ? {} : { applicationProperties }),
    body: writeBody(message.body, amqpOnly.body),
    ...(amqpOnly.footer === undefined ? {} : { footer: amqpOnly.footer }),
  });
}

function header(
  { timeToLiveMs, failedDeliveries }: ReceivedMessage,
  amqpOnly: AmqpOnly,
): AmqpValue {
  const fields: (AmqpValue | undefined)[] = [];
  fields[HEADER.durable] = amqpOnly.durable;
  fields[HEADER.priority] = amqpOnly.priority;
  fields[HEADER.timeToLive] =
    timeToLiveMs === undefined ? undefined : uint(Math.min(timeToLiveMs, HEADER_TTL_MAX));
  fields[HEADER.firstAcquirer] =
    failedDeliveries > 0 ? amqpOnly.firstAcquirer && bool(false) : amqpOnly.firstAcquirer;
  fields[HEADER.deliveryCount] = uint(failedDeliveries);
  return trimmed(Array.from(fields));
}

/** The sender's delivery annotations are returned, as the live suite of the vendor's Go client asserts. */
function deliveryAnnotations(stored: ReceivedMessage, amqpOnly: AmqpOnly): AmqpValue | undefined {
  const lock: readonly MapEntry[] =
    'lockToken' in stored ? [[symbol(LOCK_TOKEN), uuid(guidBytes(stored.lockToken))]] : [];
  const value = [...lock, ...amqpOnly.deliveryAnnotations];
  return value.length === 0 ? undefined : { type: 'map', value };
}

function annotations(stored: ReceivedMessage, amqpOnly: AmqpOnly): AmqpValue {
  const { message, sequenceNumber, enqueuedAt, state } = stored;
  const { enqueuedSequenceNumber, scheduledEnqueueAt } = message;
  const own = mapOf(
    {
      [ANNOTATION.sequenceNumber]: long(sequenceNumber),
      [ANNOTATION.enqueuedTime]: timestamp(enqueuedAt),
      [ANNOTATION.enqueuedSequenceNumber]: optional(long, enqueuedSequenceNumber),
      [ANNOTATION.lockedUntil]: 'lockedUntil' in stored ? timestamp(stored.lockedUntil) : undefined,
      [ANNOTATION.messageState]: int(STATES[state]),
      [ANNOTATION.partitionKey]: optional(str, shownPartitionKey(message)),
      [ANNOTATION.viaPartitionKey]: optional(str, message.viaPartitionKey),
      [ANNOTATION.scheduledEnqueueTime]: optional(timestamp, scheduledEnqueueAt),
      [ANNOTATION.deadLetterSource]: optional(str, message.deadLetterSource),
    },
    symbol,
  );
  return own.type === 'map' ? { ...own, value: [...own.value, ...amqpOnly.annotations] } : own;
}

function properties(stored: ReceivedMessage, amqpOnly: AmqpOnly): AmqpValue {
  const { message } = stored;
  const fields: (AmqpValue | undefined)[] = [...amqpOnly.properties];
  fields[PROPERTY.messageId] = idValue(message.messageId, fields[PROPERTY.messageId]);
  fields[PROPERTY.to] = optional(str, message.to);
  fields[PROPERTY.subject] = optional(str, message.label);
  fields[PROPERTY.replyTo] = optional(str, message.replyTo);
  fields[PROPERTY.correlationId] = idValue(message.correlationId, fields[PROPERTY.correlationId]);
  fields[PROPERTY.contentType] = optional(symbol, message.contentType);
  setLifetime(fields, stored);
  fields[PROPERTY.groupId] = optional(str, message.sessionId);
  fields[PROPERTY.replyToGroupId] = optional(str, message.replyToSessionId);
  return trimmed(Array.from(fields));
}

/** Sets creation and expiry time. Clients compute the time to live from the two, so they must match it. */
function setLifetime(
  fields: (AmqpValue | undefined)[],
  { message, enqueuedAt, timeToLiveMs }: ReceivedMessage,
): void {
  if (timeToLiveMs === undefined) return;
  // The time to live of a scheduled message starts when it becomes due.
  const sent = message.scheduledEnqueueAt === undefined ? fields[PROPERTY.creationTime] : undefined;
  const createdAt = numberOf(sent) ?? enqueuedAt;
  fields[PROPERTY.creationTime] = timestamp(createdAt);
  fields[PROPERTY.absoluteExpiryTime] = timestamp(
    Math.min(createdAt + timeToLiveMs, LIMITS.instantMax),
  );
}

/** Returns an id in the sender's type, unless a rule's action has changed it. */
function idValue(text: string | undefined, typed: AmqpValue | undefined): AmqpValue | undefined {
  if (text === undefined) return undefined;
  return idText(typed) === text ? typed : str(text);
}

function optional<T>(wrap: (value: T) => AmqpValue, value: T | undefined): AmqpValue | undefined {
  return value === undefined ? undefined : wrap(value);
}
