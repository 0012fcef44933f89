import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Block, PayloadPlace } from '../../../shared/domain/blocks/block.ts';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import { FRESH_SLOT, type Slot } from '../../../shared/domain/blocks/slot.ts';
import type { Message } from '../../../shared/domain/messages/message.ts';
import { printedSize } from '../../../shared/domain/messages/printed-size.ts';
import { fromBlockItem, toBlockItem } from '../../../shared/storage/blocks/block-item.ts';
import { brotli } from '../../../shared/storage/blocks/compression.ts';
import {
  cutBlocks,
  inARow,
  packBlocks,
  withPrintedBytes,
} from '../../../shared/storage/blocks/pack-blocks.ts';
import { printedBytesOf } from '../../../shared/storage/blocks/printed-bytes.ts';
import { itemSize, UNIT_BYTES } from '../../../shared/storage/dynamodb/item-size.ts';

/** An instant whose number takes the most bytes. */
const NOW = 1_999_999_999_999;
const LOCK: Slot = { deliveries: 10, heldUntil: NOW, tag: randomBytes(7) };

const log = (partition: number, generation: number): Log => ({
  entityId: 'abcdefgh',
  headerEntityId: 'abcdefgh',
  entityKey: 'q',
  partition,
  subQueue: 'main',
  generation,
});

let bodies = 0;
/** Pseudo-random bytes, the same in each run, because their compressed size decides where they are stored. */
const bodyOf = (bytes: number) =>
  createHash('shake256', { outputLength: bytes }).update(String(bodies++)).digest();

const message = (bytes: number, more: Partial<Message> = {}): Message => ({
  messageId: '0123456789abcdef0123456789abcdef',
  body: bodyOf(bytes),
  properties: {},
  ...more,
});

const messages = (count: number, bytes: number, more: Partial<Message> = {}) =>
  Array.from({ length: count }, () => message(bytes, more));

const pack = (to: Log, list: readonly Message[]) =>
  packBlocks(to, cutBlocks(to, inARow(list)), NOW, {
    compression: brotli,
    reference: () => 'x'.repeat(12),
  });

interface Sized {
  readonly slots: ReadonlyMap<number, Slot>;
  readonly payload: PayloadPlace;
  readonly expiresAt?: number;
}

/** The item with every message locked. */
function lockedSize(to: Log, { slots, payload, ...rest }: Sized): number {
  const locked = new Map(Array.from(slots, ([number, slot]) => [number, { ...slot, ...LOCK }]));
  const block: Block = { section: 'live', sequence: 1n, enqueuedAt: NOW, slots: locked, payload };
  const { expiresAt } = rest;
  return itemSize(toBlockItem(to, expiresAt === undefined ? block : { ...block, expiresAt }));
}

test('a block stores the printed size of its messages, rounded up to two digits', async () => {
  const list = messages(34, 1000);
  const [packed] = await pack(log(0, 0), list);
  assert.ok(packed);
  const exact = list.reduce((sum, one) => sum + printedSize(one), 0);
  const { printedBytes = 0 } = packed.payload;
  assert.ok(printedBytes >= exact && printedBytes < 1.1 * exact, `${printedBytes} for ${exact}`);
  assert.match(String(printedBytes), /^\d\d0*$/);
  const block: Block = { section: 'live', sequence: 1n, enqueuedAt: NOW, ...packed };
  assert.equal(fromBlockItem(toBlockItem(log(0, 0), block)).payload.printedBytes, printedBytes);
});

test('the block of a single tiny message stores no printed size, and counts as small', async () => {
  const list = messages(1, 20);
  const [packed] = await pack(log(0, 0), list);
  assert.ok(packed);
  assert.equal(packed.payload.printedBytes, undefined);
  assert.ok(printedBytesOf(packed) <= 4194);
});

for (const [partition, generation] of [
  [0, 0],
  [12, 0],
  [12, 33],
  [15, 120],
] as const) {
  for (const more of [{}, { timeToLiveMs: 60_000 }]) {
    test(`partition ${partition}, purged ${generation} times: the printed size costs no unit and no slot`, async () => {
      const to = log(partition, generation);
      for (const packed of await pack(to, messages(100, 200, more))) {
        assert.ok(packed.slots.size >= 32);
        assert.ok(lockedSize(to, packed) <= UNIT_BYTES);
      }
    });
  }
}

test('a payload that fits into its block is stored there, even if the printed size then has no room', async () => {
  const to = log(0, 0);
  let atEdge = 0;
  for (let bytes = 750; bytes < 950; bytes++) {
    const [packed] = await pack(to, messages(1, bytes));
    assert.ok(packed);
    const { inline = new Uint8Array(), printedBytes } = packed.payload;
    if (packed.parts.length === 0) {
      assert.ok(lockedSize(to, packed) <= UNIT_BYTES);
      if (printedBytes === undefined) atEdge++;
      continue;
    }
    const all = Buffer.concat([inline, ...packed.parts]);
    // The layout also counts the name of a payload item and a time to live.
    const { bytes: decoded, reference = '' } = packed.payload;
    const payload = { inline: all, reference, parts: 1, offset: 0, bytes: decoded };
    const size = lockedSize(to, { ...packed, payload, expiresAt: NOW });
    assert.ok(size > UNIT_BYTES, `${bytes} bytes: ${size}`);
  }
  assert.equal(atEdge, 3);
});

test('the printed size does not cost a unit in a full block that shares its payload', () => {
  const to = log(0, 0);
  const place = {
    reference: 'x'.repeat(12),
    sharedIn: 'abcdefgh.0p',
    sharedAs: 7,
    parts: 1,
    offset: 0,
  };
  for (const count of [1, 20, 33, 34]) {
    const slots = new Map(Array.from({ length: count }, (_, i) => [i, FRESH_SLOT]));
    const bare = { ...place, bytes: 37_000 };
    const told = withPrintedBytes(to, slots, bare, 55_000);
    const units = (payload: PayloadPlace) =>
      Math.ceil(lockedSize(to, { slots, payload, expiresAt: NOW }) / UNIT_BYTES);
    assert.equal(units(told), units(bare));
    if (count <= 33) assert.equal(told.printedBytes, 55_000);
  }
});
