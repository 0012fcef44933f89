import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from '../dynamodb/table.ts';
import {
  FIRST_BLOCK,
  HEADER_SORT_KEY,
  LAST_BLOCK,
  parseDueSortKey,
  readyInstant,
} from '../schema/message-keys.ts';
import type { StreamRecord } from './stream-calls.ts';

/** A block of live or returned messages that was stored or changed. */
export interface BlockNews {
  /** The name of its log, or of its session. */
  readonly log: string;
  /** Its sort key within the log. */
  readonly sortKey: string;
  /** Whether it was stored, and not changed since. */
  readonly isNew: boolean;
  /** How many messages it has. */
  readonly messages: number;
  /** When the first of them may be available, epoch ms; 0 = at once. */
  readonly freeAt: number;
}

/** What some records of the stream say to those that wait for messages. */
export interface News {
  readonly blocks: readonly BlockNews[];
  /** When sessions may be ready, epoch ms, by the name of the log that all sessions of the partition share. */
  readonly sessions: ReadonlyMap<string, number>;
  /** When scheduled messages come due, epoch ms: by the key of their log. */
  readonly due: ReadonlyMap<string, number>;
  /** The headers of partitions that were deleted. */
  readonly gone: ReadonlySet<string>;
}

/** `<entity>.<partition>`, and the letter and the generation of one of its logs, or of its ready-session index. */
const COLLECTION = /^(.+\.\d+)([mdtr])(\d+)$/;

/**
 * Reads what records say. Of several records of one item only the last counts, so a block that was stored and emptied
 * in between wakes nobody.
 */
export function newsOf(records: readonly StreamRecord[]): News {
  const blocks = new Map<string, BlockNews>();
  const sessions = new Map<string, number>();
  const due = new Map<string, number>();
  const gone = new Set<string>();
  for (const record of records) {
    const { kind, pk, sk } = record;
    if (kind === 'REMOVE' && sk === HEADER_SORT_KEY) gone.add(pk);
    const [, partition = '', letter, generation] = COLLECTION.exec(pk) ?? [];
    if (letter === undefined) continue;
    if (letter === 'r') {
      if (kind !== 'REMOVE') keepEarlier(sessions, `${partition}m${generation}`, readyInstant(sk));
    } else if (sk.startsWith('u')) {
      if (kind === 'INSERT') keepEarlier(due, pk, parseDueSortKey(sk).dueAt);
    } else noteBlock(blocks, record);
  }
  return { blocks: [...blocks.values()], sessions, due, gone };
}

function keepEarlier(instants: Map<string, number>, name: string, instant: number): void {
  instants.set(name, Math.min(instant, instants.get(name) ?? Number.POSITIVE_INFINITY));
}

function noteBlock(blocks: Map<string, BlockNews>, { kind, pk, sk, image }: StreamRecord): void {
  const start = sk.lastIndexOf('/') + 1;
  const sortKey = sk.slice(start);
  if (sortKey < FIRST_BLOCK || sortKey > LAST_BLOCK) return;
  const name = pk + sk;
  const earlier = blocks.get(name);
  // It is again the last one, so that logs wake in the order of their changes.
  blocks.delete(name);
  if (kind === 'REMOVE') return;
  const slots = slotsOf(image);
  // Of a stream without images: only a new block is known to have a message.
  if (slots === undefined && kind === 'MODIFY' && earlier === undefined) return;
  blocks.set(name, {
    log: pk + sk.slice(0, start),
    sortKey,
    isNew: kind === 'INSERT',
    messages: slots?.length ?? 1,
    freeAt: slots === undefined ? 0 : Math.min(...slots.map(heldUntil)),
  });
}

/** The stored slots of a block, of which there is one for each message that is not gone. */
function slotsOf(image: Item | undefined): readonly AttributeValue[] | undefined {
  const slots = image?.['s']?.M;
  return slots === undefined ? undefined : Object.values(slots);
}

/** See block-item.ts: the end of a lock or of a delay. */
function heldUntil(slot: AttributeValue): number {
  return Number(slot.M?.['u']?.N ?? 0);
}
