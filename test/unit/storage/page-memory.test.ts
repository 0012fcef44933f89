import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgeClock } from '../../../shared/domain/age.ts';
import type { Block } from '../../../shared/domain/blocks/block.ts';
import { FRESH_SLOT } from '../../../shared/domain/blocks/slot.ts';
import { PageMemory } from '../../../shared/storage/hints/page-memory.ts';
import { blockSortKey } from '../../../shared/storage/schema/message-keys.ts';

const LOG = 'log';
const keyAt = (sequence: bigint) => blockSortKey('live', sequence);

function blockAt(sequence: bigint, { bytes = 100, slots = 2 } = {}): Block {
  return {
    section: 'live',
    sequence,
    enqueuedAt: 0,
    slots: new Map(Array.from({ length: slots }, (_, slot) => [slot, FRESH_SLOT])),
    payload: { bytes, offset: 0, parts: 0 },
  };
}

/** A memory that holds blocks, and the time since they were read. */
function memoryOf(...blocks: readonly Block[]) {
  let now = 0;
  const ages = new AgeClock({ now: () => now }, () => now);
  const memory = new PageMemory(ages, true);
  const keep = () => memory.keep(LOG, { from: keyAt(1n), blocks, readAt: ages.now() });
  keep();
  return {
    memory,
    keep,
    pass: (ms: number) => {
      now += ms;
    },
    found: (from = keyAt(1n)) => memory.find(LOG, from)?.blocks.map(({ sequence }) => sequence),
  };
}

test('the blocks of a scan are remembered from any sort key in it on, for 250 ms', () => {
  const { found, pass } = memoryOf(blockAt(1n), blockAt(3n));
  assert.deepEqual(found(), [1n, 3n]);
  assert.deepEqual(found(keyAt(2n)), [3n]);
  assert.equal(found(keyAt(0n)), undefined, 'what is before was not read');
  pass(249);
  assert.deepEqual(found(), [1n, 3n]);
  pass(1);
  assert.equal(found(), undefined);
});

test('the first 32 blocks and 128 KB of a scan are remembered, up to the first with changed properties', () => {
  const many = Array.from({ length: 33 }, (_, i) => blockAt(BigInt(1 + 2 * i)));
  assert.equal(memoryOf(...many).found()?.length, 32);
  const half = 64 * 1024;
  const first = blockAt(1n, { bytes: half });
  assert.deepEqual(memoryOf(first, blockAt(3n, { bytes: half })).found(), [1n, 3n]);
  assert.deepEqual(memoryOf(first, blockAt(3n, { bytes: half + 1 })).found(), [1n]);
  assert.equal(memoryOf(blockAt(1n, { bytes: 2 * half + 1 })).found(), undefined);
  const plain = blockAt(1n);
  const changed = { ...plain, payload: { ...plain.payload, overlay: new Uint8Array(1) } };
  assert.equal(memoryOf(changed).found(), undefined);
  assert.deepEqual(memoryOf(plain, { ...changed, sequence: 3n }, blockAt(5n)).found(), [1n]);
  assert.equal(memoryOf().found(), undefined);
});

test('a block that arrives behind the remembered part of a scan does not end the memory', () => {
  const half = 64 * 1024;
  const { memory, found } = memoryOf(
    blockAt(1n),
    blockAt(3n, { bytes: half }),
    blockAt(5n, { bytes: half }),
  );
  memory.dropAt(LOG, keyAt(4n));
  assert.deepEqual(found(), [1n, 3n]);
  memory.dropAt(LOG, keyAt(2n));
  assert.equal(found(), undefined);
});

test('a block that arrives among the remembered ones ends the memory, one behind them does not', () => {
  const { memory, found } = memoryOf(blockAt(1n), blockAt(3n));
  memory.dropAt(LOG, keyAt(5n));
  assert.deepEqual(found(), [1n, 3n]);
  memory.dropAt(LOG, keyAt(2n));
  assert.equal(found(), undefined);
});

test('locks and removals of this process are remembered; an empty block is forgotten', () => {
  const { memory, found } = memoryOf(blockAt(1n), blockAt(3n));
  const locked = { ...blockAt(1n), slots: new Map([[0, { ...FRESH_SLOT, heldUntil: 5 }]]) };
  for (const block of [locked, blockAt(9n)]) memory.noteLocked(LOG, { block, slots: [0] });
  const [first] = memory.find(LOG, keyAt(1n))?.blocks ?? [];
  assert.deepEqual([first?.slots.get(0)?.heldUntil, first?.slots.get(1)], [5, FRESH_SLOT]);
  memory.noteLeft(LOG, blockAt(3n), (slot) => slot === 1);
  assert.deepEqual([...(memory.find(LOG, keyAt(1n))?.blocks[1]?.slots.keys() ?? [])], [1]);
  memory.noteLeft(LOG, blockAt(3n), () => false);
  assert.deepEqual(found(), [1n]);
});

test('after a lost race, nothing is remembered of the log for ten seconds', () => {
  const { memory, found, pass, keep } = memoryOf(blockAt(1n));
  memory.noteLostRace(LOG);
  assert.equal(found(), undefined);
  pass(9999);
  keep();
  assert.equal(found(), undefined);
  pass(1);
  keep();
  assert.deepEqual(found(), [1n]);
});

test('of many logs, those that were used last are remembered', () => {
  const { memory } = memoryOf(blockAt(1n));
  const { readAt } = memory.find(LOG, keyAt(1n)) ?? {};
  assert.ok(readAt);
  const page = { from: keyAt(1n), blocks: [blockAt(1n)], readAt };
  for (let i = 0; i < 1000; i++) memory.keep(`log ${i}`, page);
  const kept = Array.from({ length: 1000 }, (_, i) => memory.find(`log ${i}`, keyAt(1n)));
  assert.ok(kept.filter((one) => one !== undefined).length <= 64);
  assert.ok(kept.at(-1));
});
