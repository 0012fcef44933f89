import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { assert } from '../../domain/assert.ts';
import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Slot } from '../../domain/blocks/slot.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { MADE_BY } from '../dynamodb/prepared-write.ts';
import type { Item } from '../dynamodb/table.ts';
import { CONSUMER_MARK, CONSUMER_MARKS } from '../schema/consumer-marks.ts';
import {
  blockSortKey,
  logKey,
  parseBlockSortKey,
  randomName,
  sessionPrefix,
} from '../schema/message-keys.ts';

/**
 * A block as an item. Names are short, because the item is charged by the byte:
 *
 *     q  enqueued at      x  expires at       s  slots
 *     d  payload bytes    p  payload name     k  payload parts   o  payload offset
 *     z  decoded bytes    v  overlay          w  topic that keeps a shared payload
 *     i  number of this reference to a shared payload   y  session of scheduled messages
 *     b  bytes that the messages take in an answer, if `z` is not a good bound
 *     j  its log has consumers: see schema/consumer-marks.ts
 *     m  in a block to which messages moved: name of that write (`MADE_BY`)
 *
 * and in a slot: t  lock tag   u  held until   c  deliveries   n  deliveries that do not count
 * x  expires at. The name of a slot is one character.
 */
const SLOT_NAMES = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The attribute name of a slot. */
export function slotName(slot: number): string {
  const name = SLOT_NAMES[slot];
  assert(name !== undefined, 'a block has no more slots than names');
  return name;
}

const number = (value: number | bigint): AttributeValue => ({ N: value.toString() });

/** The stored value of a slot. */
export function slotValue(slot: Slot): AttributeValue {
  return {
    M: {
      ...(slot.tag === undefined ? {} : { t: { B: slot.tag } }),
      ...(slot.heldUntil === undefined ? {} : { u: number(slot.heldUntil) }),
      ...(slot.deliveries === 0 ? {} : { c: number(slot.deliveries) }),
      ...(slot.uncounted === undefined ? {} : { n: number(slot.uncounted) }),
      ...(slot.expiresAt === undefined ? {} : { x: number(slot.expiresAt) }),
    },
  };
}

function parseSlot(value: AttributeValue): Slot {
  const map = value.M ?? {};
  return {
    deliveries: Number(map['c']?.N ?? 0),
    ...(map['u']?.N === undefined ? {} : { heldUntil: Number(map['u'].N) }),
    ...(map['t']?.B === undefined ? {} : { tag: map['t'].B }),
    ...(map['n']?.N === undefined ? {} : { uncounted: Number(map['n'].N) }),
    ...(map['x']?.N === undefined ? {} : { expiresAt: Number(map['x'].N) }),
  };
}

/** The item that stores a block in a log. */
export function toBlockItem(log: Log, block: Block): Item {
  const { payload } = block;
  const slots = Object.fromEntries(
    Array.from(block.slots, ([slot, value]) => [slotName(slot), slotValue(value)]),
  );
  return {
    pk: { S: logKey(log) },
    sk: { S: sessionPrefix(log) + blockSortKey(block.section, block.sequence) },
    q: number(block.enqueuedAt),
    s: { M: slots },
    z: number(payload.bytes),
    ...(payload.printedBytes === undefined ? {} : { b: number(payload.printedBytes) }),
    ...(block.expiresAt === undefined ? {} : { x: number(block.expiresAt) }),
    ...(block.sessionId === undefined ? {} : { y: { S: block.sessionId } }),
    ...(payload.inline === undefined ? {} : { d: { B: payload.inline } }),
    ...(payload.reference === undefined ? {} : { p: { S: payload.reference } }),
    // Only the topic: its payloads are in the same partition as the block.
    ...(payload.sharedIn === undefined ? {} : { w: { S: payload.sharedIn.split('.')[0] ?? '' } }),
    ...(payload.sharedAs === undefined ? {} : { i: number(payload.sharedAs) }),
    ...(payload.parts > 1 ? { k: number(payload.parts) } : {}),
    ...(payload.offset > 0 ? { o: number(payload.offset) } : {}),
    ...(payload.overlay === undefined ? {} : { v: { B: payload.overlay } }),
    ...(wakesConsumers(log, block) ? { [CONSUMER_MARK]: { N: CONSUMER_MARKS.stored } } : {}),
  };
}

/** Whether consumers are woken when a block is stored. Those of sessions are woken by the ready-session index. */
function wakesConsumers(log: Log, { section }: Block): boolean {
  if (log.isConsumed !== true || log.sessions !== undefined) return false;
  return section === 'live' || section === 'returned';
}

/** The item of a block with the name of the write that makes it: see `MADE_BY`. */
export function madeHere(random: RandomSource, item: Item): Item {
  return { ...item, [MADE_BY]: { S: randomName(random) } };
}

/** The item collection of a topic's payloads, in the partition of a block. */
function sharedIn(topicId: string, blockCollection: string): string {
  const partition = /\.(\d+)/.exec(blockCollection)?.[1] ?? '0';
  return `${topicId}.${partition}p`;
}

/** Reads a block from its item. */
export function fromBlockItem(item: Item): Block {
  const { section, sequence } = parseBlockSortKey(item['sk']?.S ?? '');
  const slots = new Map(
    Object.entries(item['s']?.M ?? {}).map(([name, value]) => [
      SLOT_NAMES.indexOf(name),
      parseSlot(value),
    ]),
  );
  const reference = item['p']?.S;
  return {
    section,
    sequence,
    enqueuedAt: Number(item['q']?.N),
    ...(item['x']?.N === undefined ? {} : { expiresAt: Number(item['x'].N) }),
    ...(item['y']?.S === undefined ? {} : { sessionId: item['y'].S }),
    slots,
    payload: {
      ...(item['d']?.B === undefined ? {} : { inline: item['d'].B }),
      ...(reference === undefined ? {} : { reference }),
      ...(item['w']?.S === undefined
        ? {}
        : { sharedIn: sharedIn(item['w'].S, item['pk']?.S ?? '') }),
      ...(item['i']?.N === undefined ? {} : { sharedAs: Number(item['i'].N) }),
      parts: reference === undefined ? 0 : Number(item['k']?.N ?? 1),
      offset: Number(item['o']?.N ?? 0),
      bytes: Number(item['z']?.N ?? 0),
      ...(item['b']?.N === undefined ? {} : { printedBytes: Number(item['b'].N) }),
      ...(item['v']?.B === undefined ? {} : { overlay: item['v'].B }),
    },
  };
}
