import { BrokerError } from '../broker-error.ts';
import type { IngressSettings } from '../entities/descriptions.ts';
import { type OutgoingMessage, orderingKeyOf } from './message.ts';

/** What of a message may decide where it lies. */
type Keyed = Pick<OutgoingMessage, 'sessionId' | 'partitionKey' | 'messageId'>;
type Settings = Pick<IngressSettings, 'requiresDuplicateDetection'> & {
  readonly requiresSession?: boolean;
};

/**
 * What decides in which partition a message lies: its SessionId, else its PartitionKey, else, where
 * duplicates are looked for, the MessageId that its sender gave it (semantics #P6). Absent = any.
 */
export function partitionKeyOf(message: Keyed, settings: Settings): string | undefined {
  const orId = settings.requiresDuplicateDetection ? message.messageId : undefined;
  return orderingKeyOf(message, settings) ?? orId;
}

/**
 * The key of the messages of one call, which go into one partition: all have the same or none has
 * one (semantics M23). Throws InvalidOperation.
 */
export function sharedPartitionKey(
  messages: readonly Keyed[],
  settings: Settings,
): string | undefined {
  const keys = new Set(messages.map((message) => partitionKeyOf(message, settings)));
  const [first, second] = keys;
  if (keys.size < 2) return first;
  const named = settings.requiresDuplicateDetection
    ? 'SessionId, PartitionKey or MessageId'
    : 'SessionId or PartitionKey';
  throw new BrokerError(
    'InvalidOperation',
    `A batch to a partitioned entity goes to one partition, so all of its messages need the same ${named}, or none: one has ${shown(first)}, another has ${shown(second)}.`,
  );
}

function shown(key: string | undefined): string {
  return key === undefined ? 'none' : `'${key}'`;
}

/**
 * Which partition a key belongs to: equal keys always meet in the same one, for as long as the entity
 * lives (semantics #P7). FNV-1a over UTF-16 units, mixed at the end so that keys that differ in
 * their last letter only are spread as well.
 */
export function partitionOfKey(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions;
}
