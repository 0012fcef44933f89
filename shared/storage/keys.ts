import type { SubQueue } from '../domain/entity-path.ts';
import type { BlockStore } from '../domain/lock-token.ts';
import type { Log } from '../domain/log.ts';
import type { ItemKey } from './dynamo.ts';

/**
 * Keys of the messages table.
 *
 *     <entity>.<partition>                head     sequence counter, next due time
 *     <entity>.<partition>p               <name>.<part>          payload items
 *     <entity>.<partition><log><purges>   b<sequence>            blocks, in order
 *                                         b<sequence>+           messages put back on their own
 *                                         d<sequence>            deferred messages
 *                                         s<sequence>            scheduled messages
 *                                         u<due><sequence>       when they come due
 *                                         v<instant><name>       sends to many logs, half done
 *     <namespace>.y<id>                   y        what a transaction of that id came to
 *
 * `<log>` is m (main), d (dead-letter) or t (transfer dead-letter). `<sequence>` is 12 hex digits.
 */

const LETTERS = { main: 'm', deadLetter: 'd', transferDeadLetter: 't' } as const satisfies Record<
  SubQueue,
  string
>;

/** The item collection that holds a log. */
export function logKey(log: Log): string {
  return `${log.entityId}.${log.partition}${LETTERS[log.subQueue]}${log.generation}`;
}

/** The head of a partition: its sequence counter; it exists while the entity does. */
export function headKey(entityId: string, partition: number): ItemKey {
  return { pk: `${entityId}.${partition}`, sk: 'head' };
}

/** One item of a payload. */
export function payloadKey(log: Log, reference: string, part: number): ItemKey {
  return { pk: payloadCollection(log), sk: `${reference}.${part}` };
}

/** The item collection of all payloads of a partition; sub-queues share it, so moves copy nothing. */
export function payloadCollection(log: Log): string {
  return `${log.entityId}.${log.partition}p`;
}

/** The sort key of a block. */
export function blockSortKey(store: BlockStore, sequence: bigint): string {
  const digits = hex(sequence);
  switch (store) {
    case 'live':
      return `b${digits}`;
    case 'returned':
      return `b${digits}+`;
    case 'deferred':
      return `d${digits}`;
    case 'scheduled':
      return `s${digits}`;
  }
}

const SEQUENCE_DIGITS = 12;

/** Reads a block's sort key back. */
export function parseBlockSortKey(sortKey: string): { store: BlockStore; sequence: bigint } {
  const sequence = BigInt(`0x${sortKey.slice(1, 1 + SEQUENCE_DIGITS)}`);
  if (sortKey.startsWith('d')) return { store: 'deferred', sequence };
  if (sortKey.startsWith('s')) return { store: 'scheduled', sequence };
  return { store: sortKey.endsWith('+') ? 'returned' : 'live', sequence };
}

/** The first and last sort key under which blocks can be received in order. */
export const FIRST_BLOCK = 'b';
export const LAST_BLOCK = 'bg';

/** What tells when a scheduled block comes due; due times sort as their keys do. */
export function dueSortKey(dueAt: number, sequence: bigint): string {
  return `u${hex(BigInt(dueAt))}${hex(sequence)}`;
}

/** Reads such a key back. */
export function parseDueSortKey(sortKey: string): { dueAt: number; sequence: bigint } {
  const middle = 1 + SEQUENCE_DIGITS;
  return {
    dueAt: Number.parseInt(sortKey.slice(1, middle), 16),
    sequence: BigInt(`0x${sortKey.slice(middle)}`),
  };
}

/** An intent to write into many logs; such keys sort by time. */
export function intentSortKey(instant: number, name: string): string {
  return `v${hex(BigInt(instant))}${name}`;
}

/** What a transaction came to; every one has a collection of its own, so that none waits for another. */
export function transactionKey(namespace: string, id: string): ItemKey {
  return { pk: `${namespace}.y${id}`, sk: 'y' };
}

function hex(value: bigint): string {
  return value.toString(16).padStart(SEQUENCE_DIGITS, '0');
}
