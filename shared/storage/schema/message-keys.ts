import type { BlockSection } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { SUB_QUEUES, type SubQueue } from '../../domain/entities/entity-path.ts';
import type { ItemKey } from '../dynamodb/table.ts';

/**
 * Keys of the messages table.
 *
 *     <entity>.<partition>                  head                         sequence counter, next due time
 *     <entity>.<partition>p                 <name>.<part>                payload items
 *                                           <name>.n                     references to a shared payload
 *     <entity>.<partition>k                 /<session>/                  locks and states of sessions
 *     <entity>.<partition>r<generation>     <instant>/<session>/<name>   sessions that may have messages
 *     <entity>.<partition><log><generation> b<sequence>                  blocks, in order
 *                                           b<sequence>+                 messages put back on their own
 *                                           d<sequence>                  deferred messages
 *                                           s<sequence>                  scheduled messages
 *                                           u<due><sequence>             when they come due
 *                                           v<instant><name>             fan-out intents
 *                                           v<instant><name>.g           the progress of each
 *     <entity>.w<log>                       <name>                       notes that messages came back, for consumers
 *     <entity>.x<key>                       x                            deduplication records
 *     <entity>.y<name>                      y                            batch decisions
 *     <namespace>.z<id>                     z                            transaction records
 *
 * With sessions, `/<session>/` precedes the keys of live and deferred blocks. `<log>` is m (main), d (dead-letter) or
 * t (transfer dead-letter). `<sequence>`, `<due>` and `<instant>` are 12 hex digits.
 */

const LETTERS = { main: 'm', deadLetter: 'd', transferDeadLetter: 't' } as const satisfies Record<
  SubQueue,
  string
>;

/** The item collection that holds a log. */
export function logKey(log: Log): string {
  return `${log.entityId}.${log.partition}${LETTERS[log.subQueue]}${log.generation}`;
}

/** The name of a log or, where one is meant, of a session in it: for what a process remembers. */
export function logName(log: Log): string {
  return `${logKey(log)}${sessionPrefix(log)}`;
}

/**
 * What the sort keys of a session's blocks begin with; nothing for a log without a session. Different for each session
 * id (semantics #97).
 */
export function sessionPrefix({ sessionId }: Pick<Log, 'sessionId'>): string {
  if (sessionId === undefined) return '';
  return `/${sessionId.replaceAll(/[~/]/g, (letter) => (letter === '~' ? '~0' : '~1'))}/`;
}

/** The session that a sort key with such a prefix names; undefined where it has none. */
export function sessionOf(sortKey: string): string | undefined {
  const start = sortKey.indexOf('/');
  if (start < 0) return undefined;
  const escaped = sortKey.slice(start + 1, sortKey.indexOf('/', start + 1));
  return escaped.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Sort keys with such a prefix begin with a slash. */
export const FIRST_SESSION = '/';
/** Sorts after all of them, and before the blocks that belong to no session. */
export const AFTER_SESSIONS = '0';

/** The item collection of the locks and states of a partition's sessions; a purge leaves it alone. */
export function sessionsCollection({ entityId, partition }: Pick<Log, 'entityId' | 'partition'>) {
  return `${entityId}.${partition}k`;
}

/** The lock and the state of one session. */
export function sessionKey(log: Log): ItemKey {
  return { pk: sessionsCollection(log), sk: sessionPrefix(log) };
}

/** The item collection of the ready-session index. */
export function readyCollection(log: Pick<Log, 'entityId' | 'partition' | 'generation'>): string {
  return `${log.entityId}.${log.partition}r${log.generation}`;
}

/** The sort key of an entry of the ready-session index; such keys sort by the instant from which a session is ready. */
export function readySortKey(instant: number, log: Log, name: string): string {
  return `${hex(BigInt(instant))}${sessionPrefix(log)}${name}`;
}

/** Sorts before all entries of the ready-session index. */
export const FIRST_READY = '0';

/** Sorts after the entries of all instants up to `instant`, and before all others. */
export function readyUntil(instant: number): string {
  return `${hex(BigInt(instant))}~`;
}

/** The instant in the sort key of an index entry, epoch ms. */
export function readyInstant(sortKey: string): number {
  return Number.parseInt(sortKey.slice(0, SEQUENCE_DIGITS), 16);
}

/** The header of a partition, with its sequence counter; it exists as long as the entity does. */
export function headerKey(entityId: string, partition: number): ItemKey {
  return { pk: `${entityId}.${partition}`, sk: HEADER_SORT_KEY };
}

export const HEADER_SORT_KEY = 'head';

/** One item of a payload. */
export function payloadKey(log: Log, reference: string, part: number): ItemKey {
  return { pk: payloadCollection(log), sk: `${reference}.${part}` };
}

/** The item collection of all payloads of a partition; sub-queues share it, so moves copy nothing. */
export function payloadCollection(log: Log): string {
  return `${log.entityId}.${log.partition}p`;
}

/** The sort key of a block, without the prefix of a session. */
export function blockSortKey(section: BlockSection, sequence: bigint): string {
  const digits = hex(sequence);
  switch (section) {
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
export function parseBlockSortKey(fullKey: string): { section: BlockSection; sequence: bigint } {
  const sortKey = fullKey.slice(fullKey.lastIndexOf('/') + 1);
  const sequence = BigInt(`0x${sortKey.slice(1, 1 + SEQUENCE_DIGITS)}`);
  if (sortKey.startsWith('d')) return { section: 'deferred', sequence };
  if (sortKey.startsWith('s')) return { section: 'scheduled', sequence };
  return { section: sortKey.endsWith('+') ? 'returned' : 'live', sequence };
}

/**
 * The first and last sort key under which blocks can be received in order; scheduled and deferred ones lie behind
 * (semantics #64, #67).
 */
export const FIRST_BLOCK = 'b';
export const LAST_BLOCK = 'bg';
/** Sorts after the blocks of all sections of a log. */
export const AFTER_SECTIONS = 'z';

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

/** A note that messages of a sub-queue came back, of which only the table's stream tells. */
export function wakeNoteKey({ entityId, subQueue }: Log, random: RandomSource): ItemKey {
  return { pk: `${entityId}.w${LETTERS[subQueue]}`, sk: randomName(random) };
}

const CONSUMED = /^([^.]+)\.(?:\d+([mdt])\d+|w([mdt])|\d+r\d+)$/;

/**
 * The entity and the sub-queue whose consumers an item with their mark wakes, by its partition key; undefined = there
 * are none.
 */
export function consumedBy(
  partitionKey: string,
): { readonly entityId: string; readonly subQueue: SubQueue } | undefined {
  const [, entityId, ofLog, ofNote] = CONSUMED.exec(partitionKey) ?? [];
  if (entityId === undefined) return undefined;
  const letter = ofLog ?? ofNote ?? LETTERS.main;
  const subQueue = SUB_QUEUES.find((name) => LETTERS[name] === letter);
  return subQueue && { entityId, subQueue };
}

/** A deduplication record. Its key has no partition, because a send to any partition must find it. */
export function duplicateKey(entityId: string, key: string): ItemKey {
  return { pk: `${entityId}.x${key}`, sk: 'x' };
}

/** Whether a batch with deduplication records was stored. */
export function batchDecisionKey(entityId: string, name: string): ItemKey {
  return { pk: `${entityId}.y${name}`, sk: 'y' };
}

/** The outcome of a transaction. Each has a collection of its own, so that none waits for another. */
export function transactionKey(namespace: string, id: string): ItemKey {
  return { pk: `${namespace}.z${id}`, sk: 'z' };
}

const NAME_BYTES = 9;

/** A unique name, for payload items, a send or an intent: 72 random bits. */
export function randomName(random: RandomSource): string {
  return Buffer.from(random.bytes(NAME_BYTES)).toString('base64url');
}

function hex(value: bigint): string {
  return value.toString(16).padStart(SEQUENCE_DIGITS, '0');
}
