import { assert } from '../../domain/assert.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import type { Table } from '../dynamodb/table.ts';
import { HEADER_SORT_KEY, headerKey } from '../schema/message-keys.ts';

/**
 * The header of a partition, one item that exists exactly as long as its entity:
 *
 *     n  the last sequence number taken
 *     w  no scheduled message is due before this instant; absent = none is scheduled
 *     y  how often a message was scheduled
 *     a  when numbers were last taken, epoch ms, which is the last send
 *     z  bytes of all messages ever stored
 */
export interface PartitionHeader {
  readonly nextDueAt: number | undefined;
  readonly scheduledCount: number;
  readonly sentAt: number | undefined;
  readonly bytesIn: number;
}

/** Reads the header. One read unit. Throws MessagingEntityNotFound if the entity was deleted. */
export async function readPartitionHeader(table: Table, log: Log): Promise<PartitionHeader> {
  const item = await table.get(headerKey(log.entityId, log.partition), { consistent: true });
  if (item === undefined) throw gone();
  return {
    nextDueAt: item['w']?.N === undefined ? undefined : Number(item['w'].N),
    scheduledCount: Number(item['y']?.N ?? 0),
    sentAt: item['a']?.N === undefined ? undefined : Number(item['a'].N),
    bytesIn: Number(item['z']?.N ?? 0),
  };
}

/**
 * Reads headers by their partition keys, eventually consistent: for each that exists a text that every send, and every
 * message that is scheduled, changes. Half a read unit each; up to 100 in one request. Throws ServiceBusy.
 */
export async function readHeaderVersions(
  table: Table,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const keys = names.map((pk) => ({ pk, sk: HEADER_SORT_KEY }));
  const items = await table.getMany(keys, { consistent: false });
  return new Map(
    items.map((item) => {
      const parts = VERSION_ATTRIBUTES.map((attribute) => item[attribute]?.N ?? '');
      return [item['pk']?.S ?? '', parts.join(' ')];
    }),
  );
}

/** The last number and the last send change with every send; the other two when messages are scheduled or come due. */
const VERSION_ATTRIBUTES = ['n', 'a', 'w', 'y'] as const;

/** Sequence numbers that were taken, and the state of the header. */
export interface TakenNumbers {
  readonly first: bigint;
  /** Bytes ever stored in the partition. */
  readonly bytesIn: number;
}

/**
 * Takes `count` sequence numbers from the partition's counter (a subscription uses its topic's) and returns the first
 * (semantics #60). One write unit. A send after the deletion of its entity is refused here, even if a cache still has
 * the entity. Throws MessagingEntityNotFound.
 */
export async function takeNumbers(
  table: Table,
  log: Log,
  taking: { readonly count: number; readonly bytes: number; readonly now: number },
): Promise<TakenNumbers> {
  const { count, bytes, now } = taking;
  const written = await table.update(headerKey(log.headerEntityId, log.partition), {
    UpdateExpression: 'ADD n :count, z :bytes SET a = :now',
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeValues: {
      ':count': { N: String(count) },
      ':bytes': { N: String(bytes) },
      ':now': { N: String(now) },
    },
    ReturnValues: 'UPDATED_NEW',
  });
  if (!written.done) throw gone();
  const last = written.item?.['n']?.N;
  assert(last !== undefined, 'a counter answers with its value');
  return {
    first: BigInt(last) - BigInt(count) + 1n,
    bytesIn: Number(written.item?.['z']?.N ?? 0),
  };
}

/**
 * Notes that a message was scheduled, and its due time if no message is due earlier. Returns the next due time after
 * that. One write unit.
 */
export async function lowerNextDue(table: Table, log: Log, dueAt: number): Promise<number> {
  const key = headerKey(log.entityId, log.partition);
  const values = { ':one': { N: '1' }, ':due': { N: String(dueAt) } };
  const lowered = await table.update(key, {
    UpdateExpression: 'ADD y :one SET w = :due',
    ConditionExpression: 'attribute_exists(pk) AND (attribute_not_exists(w) OR w > :due)',
    ExpressionAttributeValues: values,
  });
  if (lowered.done) return dueAt;
  const counted = await table.update(key, {
    UpdateExpression: 'ADD y :one',
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeValues: { ':one': values[':one'] },
    ReturnValues: 'ALL_NEW',
  });
  if (!counted.done) throw gone();
  const current = counted.item?.['w']?.N;
  // A process that raised the due time meanwhile has not seen this message, so it is lowered again.
  if (current === undefined || Number(current) > dueAt)
    return await lowerNextDue(table, log, dueAt);
  return Number(current);
}

/**
 * Raises the next due time after due messages were activated, unless a message was scheduled since `seen` was read.
 */
export async function raiseNextDue(
  table: Table,
  log: Log,
  seen: PartitionHeader,
  nextDueAt: number | undefined,
): Promise<boolean> {
  const written = await table.update(headerKey(log.entityId, log.partition), {
    UpdateExpression: nextDueAt === undefined ? 'REMOVE w' : 'SET w = :next',
    ConditionExpression: 'y = :times AND w = :seen',
    ExpressionAttributeValues: {
      ':times': { N: String(seen.scheduledCount) },
      ':seen': { N: String(seen.nextDueAt ?? 0) },
      ...(nextDueAt === undefined ? {} : { ':next': { N: String(nextDueAt) } }),
    },
  });
  return written.done;
}

function gone(): BrokerError {
  return new BrokerError('MessagingEntityNotFound', 'The messaging entity no longer exists.');
}
