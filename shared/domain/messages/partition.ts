import { invalidOperation } from '../broker-error.ts';
import type { IngressSettings } from '../entities/descriptions.ts';
import { type OutgoingMessage, orderingKeyOf } from './message.ts';

/** The fields of a message that may decide its partition. */
type Keyed = Pick<OutgoingMessage, 'sessionId' | 'partitionKey' | 'messageId'>;
type Settings = Pick<IngressSettings, 'requiresDuplicateDetection'> & {
  readonly requiresSession?: boolean;
};

/**
 * The key that decides the partition of a message: the SessionId, else the PartitionKey, else, in an entity
 * with duplicate detection, the sender's MessageId (semantics #P6). Undefined = any partition.
 */
export function placementKeyOf(message: Keyed, settings: Settings): string | undefined {
  const orId = settings.requiresDuplicateDetection ? message.messageId : undefined;
  return orderingKeyOf(message, settings) ?? orId;
}

/**
 * The common partition key of the messages of one send, which all go to one partition. Throws
 * InvalidOperation if the keys differ, or if only some messages have one (semantics M23, P17).
 */
export function sharedPlacementKey(
  messages: readonly Keyed[],
  settings: Settings,
): string | undefined {
  const keys = new Set(messages.map((message) => placementKeyOf(message, settings)));
  const [first, second] = keys;
  if (keys.size < 2) return first;
  const named = settings.requiresDuplicateDetection
    ? 'SessionId, PartitionKey or MessageId'
    : 'SessionId or PartitionKey';
  throw invalidOperation(
    `A batch to a partitioned entity goes to one partition, so all of its messages need the same ${named}, or none: one has ${keyText(first)}, another has ${keyText(second)}.`,
  );
}

function keyText(key: string | undefined): string {
  return key === undefined ? 'none' : `'${key}'`;
}

/**
 * The partition of a key. Equal keys have the same partition for the lifetime of the entity (semantics #P7),
 * so this hash must never change. It is FNV-1a over UTF-16 units with a final mix, which also spreads keys
 * that differ only in their last character.
 */
export function partitionOfKey(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions;
}
