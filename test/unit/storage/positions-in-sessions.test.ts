import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Block } from '../../../shared/domain/blocks/block.ts';
import { type Log, logOfSession } from '../../../shared/domain/blocks/log.ts';
import { FRESH_SLOT } from '../../../shared/domain/blocks/slot.ts';
import { toBlockItem } from '../../../shared/storage/blocks/block-item.ts';
import { type Item, keyOfItem, type Table } from '../../../shared/storage/dynamodb/table.ts';
import { positionsInSessions } from '../../../shared/storage/messages/positions-in-sessions.ts';

const LOG: Log = {
  entityId: 'q',
  headerEntityId: 'q',
  entityKey: 'q',
  partition: 0,
  subQueue: 'main',
  generation: 0,
  sessions: { epoch: 0 },
};

function itemOf(
  session: string,
  sequence: number,
  slots: readonly number[],
  section: Block['section'],
) {
  return toBlockItem(logOfSession(LOG, session), {
    section,
    sequence: BigInt(sequence),
    enqueuedAt: 0,
    slots: new Map(slots.map((slot) => [slot, FRESH_SLOT])),
    payload: { bytes: 10, offset: 0, parts: 0, inline: new Uint8Array(1) },
  });
}

/** A table of these items that returns so many of them at most in a page, and counts them. */
function tableOf(items: readonly Item[], pageItems: number) {
  const sorted = items.toSorted((a, b) => (keyOfItem(a).sk < keyOfItem(b).sk ? -1 : 1));
  const counter = { read: 0 };
  const range: Table['range'] = async (_, { from, to, limit = Infinity }) => {
    const rest = sorted.filter((item) => keyOfItem(item).sk >= from && keyOfItem(item).sk <= to);
    const page = rest.slice(0, Math.min(pageItems, limit));
    counter.read += page.length;
    const last = page.at(-1);
    return {
      items: page,
      next: rest.length > page.length && last ? `${keyOfItem(last).sk}!` : undefined,
    };
  };
  return { counter, table: { range } as Table };
}

async function numbersOf(items: readonly Item[], pageItems: number, from: number, count: number) {
  const { counter, table } = tableOf(items, pageItems);
  const found = await positionsInSessions({ table }, LOG, BigInt(from), count);
  return { numbers: found.map(({ sequence }) => Number(sequence)), found, read: counter.read };
}

const SESSIONS = ['a', 'b', '', '/', 'a/b', '~'];

test('S12 the lowest numbers of all sessions from a number on are found, whatever the pages', async () => {
  const blocks = fc.array(
    fc.record({
      session: fc.constantFrom(...SESSIONS),
      slots: fc.subarray(
        Array.from({ length: 62 }, (_, i) => i),
        { minLength: 1 },
      ),
      section: fc.constantFrom<Block['section']>('live', 'returned', 'deferred'),
    }),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(
      blocks,
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 0, max: 2000 }),
      fc.integer({ min: 1, max: 60 }),
      async (drawn, pageItems, from, count) => {
        const items = drawn.map(({ session, slots, section }, i) => {
          return itemOf(
            session,
            1 + 62 * i,
            section === 'live' ? slots : slots.slice(0, 1),
            section,
          );
        });
        const expected = drawn
          .flatMap(({ slots, section }, i) =>
            (section === 'live' ? slots : slots.slice(0, 1)).map((slot) => 1 + 62 * i + slot),
          )
          .filter((number) => number >= from)
          .slice(0, count);
        assert.deepEqual((await numbersOf(items, pageItems, from, count)).numbers, expected);
      },
    ),
    { numRuns: 1000 },
  );
});

test('S12 a message that is found in two sections counts once, where it was found last', async () => {
  const items = [
    itemOf('a', 1, [0, 1], 'live'),
    itemOf('a', 2, [0], 'deferred'),
    itemOf('b', 3, [0], 'live'),
  ];
  const { numbers, found } = await numbersOf(items, 10, 0, 3);
  assert.deepEqual(numbers, [1, 2, 3]);
  assert.equal(found[1]?.block.section, 'deferred');
});

test('S12 a deferred block that starts below the number is found, though the active ones are far above', async () => {
  const items = [
    itemOf('a', 1, [58], 'deferred'),
    itemOf('a', 63, [61], 'live'),
    itemOf('a', 125, [61], 'live'),
  ];
  assert.deepEqual((await numbersOf(items, 1, 2, 1)).numbers, [59]);
});

test('a session with many messages costs few pages of blocks, wherever a peek begins', async () => {
  const items = Array.from({ length: 3000 }, (_, i) => {
    const section = i % 10 === 0 ? 'deferred' : 'live';
    return itemOf(`s${i % 3}`, i + 1, [0], section);
  });
  for (const from of [0, 1500, 2990]) {
    const { numbers, read } = await numbersOf(items, 20, from, 10);
    const first = Math.max(1, from);
    assert.deepEqual(
      numbers,
      Array.from({ length: 10 }, (_, i) => first + i),
    );
    assert.ok(read <= 500, `${read} of ${items.length} blocks were read from ${from}`);
  }
});

test('S12 a peek of more sessions than it may read is refused rather than endless', async () => {
  const items = Array.from({ length: 51 }, (_, i) => itemOf(`s${i}`, i + 1, [0], 'live'));
  const { numbers, read } = await numbersOf(items.slice(0, 50), 1, 0, 100);
  assert.deepEqual([numbers.length, read], [50, 50]);
  await assert.rejects(numbersOf(items, 1, 0, 100), /Name a session to peek/);
});
