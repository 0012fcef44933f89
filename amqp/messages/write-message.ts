import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { type OutgoingMessage, shownPartitionKey } from '../../shared/domain/messages/message.ts';
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
import { ANNOTATION, HEADER, HEADER_TTL_MAX, LOCK_TOKEN, PROPERTY } from './annotations.ts';
import { writeBody } from './bodies.ts';
import { idText } from './json-text.ts';
import { fromProperties, guidBytes } from './property-values.ts';
import { writeSections } from './sections.ts';

const STATES = { Active: 0, Deferred: 1, Scheduled: 2 } as const;

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
  const { message, timeToLiveMs, failedDeliveries, enqueuedAt } = stored;
  const { scheduledEnqueueAt } = message;
  return write(message, {
    timeToLiveMs,
    failedDeliveries,
    // The time to live of a scheduled message starts when it becomes due.
    createdAt: (sent) => (scheduledEnqueueAt === undefined ? sent : undefined) ?? enqueuedAt,
    deliveryAnnotations:
      'lockToken' in stored ? [[symbol(LOCK_TOKEN), uuid(guidBytes(stored.lockToken))]] : [],
    annotations: {
      [ANNOTATION.sequenceNumber]: long(stored.sequenceNumber),
      [ANNOTATION.enqueuedTime]: timestamp(enqueuedAt),
      [ANNOTATION.enqueuedSequenceNumber]: optional(long, message.enqueuedSequenceNumber),
      [ANNOTATION.lockedUntil]: 'lockedUntil' in stored ? timestamp(stored.lockedUntil) : undefined,
      [ANNOTATION.messageState]: int(STATES[stored.state]),
      [ANNOTATION.partitionKey]: optional(str, shownPartitionKey(message)),
      [ANNOTATION.deadLetterSource]: optional(str, message.deadLetterSource),
    },
  });
}

/** Encodes a message as its sender does, so that `readMessages` gives the same message. */
export function writeOutgoing(message: OutgoingMessage): Buffer {
  const { timeToLiveMs, partitionKey } = message;
  return write(message, {
    timeToLiveMs,
    // Beyond 32 bits, the time to live is the difference of two instants, of which the sender has set the first.
    createdAt: (sent) => ((timeToLiveMs ?? 0) > HEADER_TTL_MAX ? (sent ?? 0) : undefined),
    deliveryAnnotations: [],
    annotations: { [ANNOTATION.partitionKey]: optional(str, partitionKey) },
  });
}

/** What is encoded beside the fields that every message has. */
interface Encoded {
  readonly timeToLiveMs: number | undefined;
  readonly failedDeliveries?: number;
  /** When the time to live began, epoch ms, if its end is encoded, too. `sent` = what the sender has set. */
  readonly createdAt: (sent: number | undefined) => number | undefined;
  readonly deliveryAnnotations: readonly MapEntry[];
  readonly annotations: Readonly<Record<string, AmqpValue | undefined>>;
}

function write(message: OutgoingMessage, more: Encoded): Buffer {
  const amqpOnly = unpackAmqpOnly(message.amqp);
  // The sender's delivery annotations are returned, as the live suite of the vendor's Go client asserts.
  const deliveryAnnotations = [...more.deliveryAnnotations, ...amqpOnly.deliveryAnnotations];
  return writeSections({
    header: header(amqpOnly, more),
    ...present({
      deliveryAnnotations: mapUnlessEmpty(deliveryAnnotations),
      annotations: annotations(message, amqpOnly, more),
      applicationProperties: fromProperties(message.properties, amqpOnly.others),
      footer: amqpOnly.footer,
    }),
    properties: properties(message, amqpOnly, more),
    body: writeBody(message.body, amqpOnly.body),
  });
}

function header(amqpOnly: AmqpOnly, { timeToLiveMs, failedDeliveries }: Encoded): AmqpValue {
  const fields: (AmqpValue | undefined)[] = [];
  fields[HEADER.durable] = amqpOnly.durable;
  fields[HEADER.priority] = amqpOnly.priority;
  fields[HEADER.timeToLive] =
    timeToLiveMs === undefined ? undefined : uint(Math.min(timeToLiveMs, HEADER_TTL_MAX));
  fields[HEADER.firstAcquirer] =
    (failedDeliveries ?? 0) > 0 ? amqpOnly.firstAcquirer && bool(false) : amqpOnly.firstAcquirer;
  fields[HEADER.deliveryCount] = optional(uint, failedDeliveries);
  return trimmed(Array.from(fields));
}

function annotations(
  { viaPartitionKey, scheduledEnqueueAt }: OutgoingMessage,
  amqpOnly: AmqpOnly,
  more: Encoded,
): AmqpValue | undefined {
  const own = mapOf(
    {
      ...more.annotations,
      [ANNOTATION.viaPartitionKey]: optional(str, viaPartitionKey),
      [ANNOTATION.scheduledEnqueueTime]: optional(timestamp, scheduledEnqueueAt),
    },
    symbol,
  );
  return mapUnlessEmpty([...(own.type === 'map' ? own.value : []), ...amqpOnly.annotations]);
}

function properties(message: OutgoingMessage, amqpOnly: AmqpOnly, more: Encoded): AmqpValue {
  const fields: (AmqpValue | undefined)[] = [...amqpOnly.properties];
  fields[PROPERTY.messageId] = idValue(message.messageId, fields[PROPERTY.messageId]);
  fields[PROPERTY.to] = optional(str, message.to);
  fields[PROPERTY.subject] = optional(str, message.label);
  fields[PROPERTY.replyTo] = optional(str, message.replyTo);
  fields[PROPERTY.correlationId] = idValue(message.correlationId, fields[PROPERTY.correlationId]);
  fields[PROPERTY.contentType] = optional(symbol, message.contentType);
  setLifetime(fields, more);
  fields[PROPERTY.groupId] = optional(str, message.sessionId);
  fields[PROPERTY.replyToGroupId] = optional(str, message.replyToSessionId);
  return trimmed(Array.from(fields));
}

/** Sets creation and expiry time. Clients compute the time to live from the two, so they must match it. */
function setLifetime(
  fields: (AmqpValue | undefined)[],
  { timeToLiveMs, createdAt }: Encoded,
): void {
  const created = createdAt(numberOf(fields[PROPERTY.creationTime]));
  if (timeToLiveMs === undefined || created === undefined) return;
  fields[PROPERTY.creationTime] = timestamp(created);
  fields[PROPERTY.absoluteExpiryTime] = timestamp(
    Math.min(created + timeToLiveMs, LIMITS.instantMax),
  );
}

function mapUnlessEmpty(value: readonly MapEntry[]): AmqpValue | undefined {
  return value.length === 0 ? undefined : { type: 'map', value };
}

/** Returns an id in the sender's type, unless a rule's action has changed it. */
function idValue(text: string | undefined, typed: AmqpValue | undefined): AmqpValue | undefined {
  if (text === undefined) return undefined;
  return idText(typed) === text ? typed : str(text);
}

function optional<T>(wrap: (value: T) => AmqpValue, value: T | undefined): AmqpValue | undefined {
  return value === undefined ? undefined : wrap(value);
}
