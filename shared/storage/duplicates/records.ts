import type { Item } from '../dynamodb/table.ts';
import { keyItem } from '../dynamodb/table.ts';
import { batchDecisionKey, duplicateKey } from '../schema/message-keys.ts';
import { GARBAGE_AFTER } from '../schema/tables.ts';

/**
 * The items by which duplicates of accepted messages are detected:
 *
 *     deduplication record   x  until when it is valid   n  name of the attempt that wrote it
 *                            q  number of the message    i  index in its batch
 *                                                        c  size of the batch
 *     batch decision         q  number of the first message of a batch that was stored
 *                            d  the indexes of its duplicates, which have no number: a bit each
 *                            a  the batch was given up and can never be stored
 *
 * A record with an index was written before its batch was stored, and is valid only if the batch was. A record outlasts
 * its message, whatever becomes of that (semantics #79).
 */
export interface DeduplicationRecord {
  /** Epoch ms. */
  readonly until: number;
  readonly name: string;
  readonly number?: bigint | undefined;
  /** Only of a record that was written before its message was stored. */
  readonly batch?: { readonly index: number; readonly size: number };
}

/** The item of a deduplication record. */
export function toRecordItem(entityId: string, key: string, record: DeduplicationRecord): Item {
  const { until, name, number, batch } = record;
  return {
    ...keyItem(duplicateKey(entityId, key)),
    x: { N: String(until) },
    n: { S: name },
    ...(number === undefined ? {} : { q: { N: String(number) } }),
    ...(batch === undefined ? {} : { i: { N: String(batch.index) }, c: { N: String(batch.size) } }),
    ...garbageAfter(until),
  };
}

/** Parses a deduplication record. */
export function fromRecordItem(item: Item): DeduplicationRecord {
  return {
    until: Number(item['x']?.N),
    name: item['n']?.S ?? '',
    ...(item['q']?.N === undefined ? {} : { number: BigInt(item['q'].N) }),
    ...(item['i']?.N === undefined
      ? {}
      : { batch: { index: Number(item['i'].N), size: Number(item['c']?.N) } }),
  };
}

/** Whether a batch was stored, once and for all. */
export interface BatchDecision {
  readonly isStored: boolean;
  readonly first?: bigint | undefined;
  readonly dropped?: Uint8Array | undefined;
}

/** `until` = when the last record that names the batch ends, epoch ms. */
export function toDecisionItem(
  entityId: string,
  name: string,
  { isStored, first, dropped }: BatchDecision,
  until: number,
): Item {
  return {
    ...keyItem(batchDecisionKey(entityId, name)),
    ...(isStored ? {} : { a: { BOOL: true } }),
    ...(first === undefined ? {} : { q: { N: String(first) } }),
    ...(dropped === undefined ? {} : { d: { B: dropped } }),
    ...garbageAfter(until + OUTLASTS_MS),
  };
}

/** Parses a batch decision. */
export function fromDecisionItem(item: Item): BatchDecision {
  return {
    isStored: item['a'] === undefined,
    first: item['q']?.N === undefined ? undefined : BigInt(item['q'].N),
    dropped: item['d']?.B,
  };
}

/** A decision is kept as long as a record names it, and then this long for late writes, ms. */
const OUTLASTS_MS = 24 * 60 * 60 * 1000;

function garbageAfter(until: number): Item {
  return { [GARBAGE_AFTER]: { N: String(Math.ceil(until / 1000)) } };
}

/** The indexes of duplicates as bits; undefined if there are none. */
export function indexesAsBits(indexes: readonly number[]): Uint8Array | undefined {
  if (indexes.length === 0) return undefined;
  const bits = new Uint8Array((Math.max(...indexes) >> 3) + 1);
  for (const index of indexes) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
  return bits;
}

/** The number of a message of a batch, in which duplicates have no number. */
export function numberAt({ first, dropped }: BatchDecision, index: number): bigint | undefined {
  if (first === undefined) return undefined;
  let before = 0;
  for (let other = 0; other < index; other++) {
    if (((dropped?.[other >> 3] ?? 0) >> (other & 7)) & 1) before++;
  }
  return first + BigInt(index - before);
}
