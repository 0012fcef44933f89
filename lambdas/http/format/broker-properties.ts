import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { argumentError, invalidOperation } from '../../../shared/domain/broker-error.ts';
import { parseTimeSpan, unlimitedAbove } from '../../../shared/domain/duration.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import {
  hasTwoOrderingKeys,
  type OutgoingMessage,
  shownPartitionKey,
} from '../../../shared/domain/messages/message.ts';
import { httpDate, parseDate } from './date-text.ts';
import { isJsonObject, plainNumber } from './exact-json.ts';
import { requireWellFormed } from './well-formed-text.ts';

/**
 * The fields of a message that its `BrokerProperties` JSON holds, in the header and in batches (semantics
 * H9, H13).
 */
export type SystemProperties = Omit<OutgoingMessage, 'body' | 'properties' | 'amqp'>;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
type Json = Readonly<Record<string, unknown>>;

/** The text fields: wire name, our name, and whether it is an id, whose length is limited. */
const TEXTS = [
  ['ContentType', 'contentType', 'text'],
  ['CorrelationId', 'correlationId', 'text'],
  ['Label', 'label', 'text'],
  ['MessageId', 'messageId', 'id'],
  ['PartitionKey', 'partitionKey', 'id'],
  ['ReplyTo', 'replyTo', 'text'],
  ['ReplyToSessionId', 'replyToSessionId', 'id'],
  ['SessionId', 'sessionId', 'id'],
  ['To', 'to', 'text'],
  ['ViaPartitionKey', 'viaPartitionKey', 'id'],
] as const;

/** The printed value of an unlimited time to live: the largest .NET TimeSpan, in seconds (semantics #58). */
const UNLIMITED_SECONDS = '922337203685.47754';

/**
 * Reads the keys that a sender may set from JSON that `parseExactJson` parsed. `null` counts as absent;
 * unknown and read-only keys are ignored (semantics M9). Throws ArgumentError, and InvalidOperation where the
 * PartitionKey differs from the SessionId.
 */
export function readBrokerProperties(json: unknown): SystemProperties {
  if (json === undefined || json === null) return {};
  if (!isJsonObject(json)) throw argumentError('BrokerProperties must be a JSON object.');
  const read: Writable<SystemProperties> = {};
  for (const [key, field, kind] of TEXTS) {
    const text = readText(json, key, kind);
    if (text !== undefined) read[field] = text;
  }
  // An empty id would identify nothing, so the broker assigns one instead.
  if (read.messageId === '') delete read.messageId;
  requireOneOrdering(read);
  const timeToLiveMs = readTimeToLive(json);
  if (timeToLiveMs !== undefined) read.timeToLiveMs = timeToLiveMs;
  const scheduledEnqueueAt = readDate(json, 'ScheduledEnqueueTimeUtc');
  if (scheduledEnqueueAt !== undefined) read.scheduledEnqueueAt = scheduledEnqueueAt;
  const forcePersistence = json['ForcePersistence'] ?? undefined;
  if (forcePersistence !== undefined) {
    if (typeof forcePersistence !== 'boolean')
      throw argumentError('ForcePersistence must be a boolean.');
    read.forcePersistence = forcePersistence;
  }
  return read;
}

function readText(json: Json, key: string, kind: 'id' | 'text'): string | undefined {
  const value = json[key] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw argumentError(`${key} must be a text.`);
  if (kind === 'id' && value.length > LIMITS.idLength) {
    throw argumentError(
      `${key} is ${value.length} characters long; the limit is ${LIMITS.idLength}.`,
    );
  }
  return requireWellFormed(value, key);
}

function requireOneOrdering(keys: SystemProperties): void {
  if (!hasTwoOrderingKeys(keys)) return;
  const { sessionId, partitionKey } = keys;
  throw invalidOperation(
    `The PartitionKey '${partitionKey}' differs from the SessionId '${sessionId}'; where both are set they must be equal.`,
  );
}

/** The time to live, ms; `undefined` where it is unlimited, so that the entity's default applies. */
function readTimeToLive(json: Json): number | undefined {
  const span = json['TimeToLiveTimeSpan'] ?? undefined;
  const ms = span === undefined ? readSeconds(json) : readTimeSpan(span);
  if (ms !== undefined && ms <= 0)
    throw argumentError('The time to live must be greater than zero.');
  // A positive value below 1 ms must not round to 0.
  return ms === undefined ? undefined : unlimitedAbove(Math.max(1, Math.round(ms)));
}

function readSeconds(json: Json): number | undefined {
  const seconds = plainNumber(json['TimeToLive']) ?? undefined;
  if (seconds === undefined) return undefined;
  if (typeof seconds !== 'number') throw argumentError('TimeToLive must be a number of seconds.');
  return seconds * 1000;
}

function readTimeSpan(value: unknown): number {
  const span = typeof value === 'string' ? parseTimeSpan(value) : undefined;
  if (span === undefined) throw argumentError('TimeToLiveTimeSpan must be a text like 0.00:00:40.');
  return span.ms ?? Number.POSITIVE_INFINITY;
}

function readDate(json: Json, key: string): number | undefined {
  const value = json[key] ?? undefined;
  if (value === undefined) return undefined;
  const ms = typeof value === 'string' ? parseDate(value) : undefined;
  if (ms !== undefined) return ms;
  throw argumentError(
    `${key} must be a date like Sun, 06 Nov 2033 08:49:37 GMT or 2033-11-06T08:49:37.5Z.`,
  );
}

/** How a message is printed. */
export interface PrintOptions {
  /**
   * DeliveryCount includes the current delivery for a receiver, and only failed ones for a peek (semantics
   * M13).
   */
  readonly view: 'received' | 'peeked';
  /** Whether to add ContentType, which the vendor's API does not print here. */
  readonly contentType?: boolean;
  /** Whether to add ExpiresAtUtc, which the vendor's API does not print here. */
  readonly expiresAt?: boolean;
  /** Printed JSON of the properties that no header can carry. */
  readonly userProperties?: string | undefined;
}

/**
 * Prints the JSON, keys in alphabetical order as in the vendor's service, with all digits of 64-bit
 * numbers.
 */
export function printBrokerProperties(stored: ReceivedMessage, options: PrintOptions): string {
  const { message } = stored;
  const deliveryCount = stored.failedDeliveries + (options.view === 'received' ? 1 : 0);
  const members = [
    text('ContentType', options.contentType ? message.contentType : undefined),
    text('CorrelationId', message.correlationId),
    text('DeadLetterSource', message.deadLetterSource),
    `"DeliveryCount":${deliveryCount}`,
    `"EnqueuedSequenceNumber":${message.enqueuedSequenceNumber ?? 0}`,
    date('EnqueuedTimeUtc', stored.enqueuedAt),
    date('ExpiresAtUtc', options.expiresAt ? stored.expiresAt : undefined),
    message.forcePersistence === undefined ? '' : `"ForcePersistence":${message.forcePersistence}`,
    text('Label', message.label),
    'lockToken' in stored ? text('LockToken', stored.lockToken) : '',
    'lockedUntil' in stored ? date('LockedUntilUtc', stored.lockedUntil) : '',
    text('MessageId', message.messageId),
    text('PartitionKey', shownPartitionKey(message)),
    text('ReplyTo', message.replyTo),
    text('ReplyToSessionId', message.replyToSessionId),
    date('ScheduledEnqueueTimeUtc', message.scheduledEnqueueAt),
    `"SequenceNumber":${stored.sequenceNumber}`,
    text('SessionId', message.sessionId),
    `"State":"${stored.state}"`,
    `"TimeToLive":${seconds(stored.timeToLiveMs)}`,
    text('To', message.to),
    options.userProperties === undefined ? '' : `"UserProperties":${options.userProperties}`,
    text('ViaPartitionKey', message.viaPartitionKey),
  ];
  return `{${members.filter((member) => member !== '').join(',')}}`;
}

/** Prints the BrokerProperties that the renewal of a lock returns. `lockedUntil` in epoch ms. */
export function printLockedUntil(lockedUntil: number): string {
  return `{${date('LockedUntilUtc', lockedUntil)}}`;
}

const text = (key: string, value: string | undefined): string =>
  value === undefined ? '' : `"${key}":${JSON.stringify(value)}`;

const date = (key: string, ms: number | undefined): string =>
  ms === undefined ? '' : `"${key}":"${httpDate(ms)}"`;

const seconds = (ms: number | undefined): string =>
  ms === undefined ? UNLIMITED_SECONDS : String(ms / 1000);
