import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../../../shared/domain/blocks/block.ts';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import { fromBlockItem, toBlockItem } from '../../../shared/storage/blocks/block-item.ts';
import type { Item, Table } from '../../../shared/storage/dynamodb/table.ts';
import {
  type CountBound,
  CountBudget,
  sharedBound,
} from '../../../shared/storage/entities/count-bound.ts';
import { countLog, NOTHING } from '../../../shared/storage/entities/count-log.ts';

const LOG: Log = {
  entityId: 'e',
  headerEntityId: 'e',
  entityKey: 'q',
  partition: 0,
  subQueue: 'main',
  generation: 0,
};
const SMALL: Omit<CountBound, 'budget'> = {
  firstItems: 10,
  exactMessages: 100,
  exactPages: 2,
  samples: 8,
  sampleItems: 4,
};
/** The items of a page without a limit. */
const PAGE = 50;

/** A block of as many messages from a sequence number on, in a session or not. */
function block(
  sequence: number,
  messages: number,
  sessionId?: string,
  section: Block['section'] = 'live',
): Item {
  const slots = new Map(
    Array.from({ length: messages }, (_, i) => [i, { deliveries: 0 }] as const),
  );
  const payload = { parts: 0, offset: 0, bytes: 10 * messages };
  const inSession = sessionId === undefined ? LOG : { ...LOG, sessionId };
  return toBlockItem(inSession, {
    section,
    sequence: BigInt(sequence),
    enqueuedAt: 0,
    slots,
    payload,
  });
}

/** A table of these items, which counts how many are read. */
function tableOf(items: readonly Item[]) {
  const keyOf = (item: Item) => item['sk']?.S ?? '';
  const sorted = items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const counter = { read: 0 };
  const between = (from: string, to: string) =>
    sorted.filter((item) => keyOf(item) >= from && keyOf(item) <= to);
  const table = {
    range: async (
      _: string,
      { from, to, limit = PAGE }: { from: string; to: string; limit?: number },
    ) => {
      const all = between(from, to);
      const page = all.slice(0, limit);
      counter.read += page.length;
      const last = page.at(-1);
      const isMore = last !== undefined && all.length >= limit;
      return { items: page, next: isMore ? `${keyOf(last)}!` : undefined };
    },
    query: async (input: {
      ExpressionAttributeValues: { ':from': { S: string }; ':to': { S: string } };
      ScanIndexForward: boolean;
    }) => {
      const { ':from': from, ':to': to } = input.ExpressionAttributeValues;
      const all = between(from.S, to.S);
      counter.read++;
      return { items: (input.ScanIndexForward ? all : all.reverse()).slice(0, 1) };
    },
  };
  return { table: table as unknown as Table, counter };
}

async function count(
  items: readonly Item[],
  bound: CountBound = { ...SMALL, budget: new CountBudget() },
) {
  const { table, counter } = tableOf(items);
  const tallyOf = (item: Item) => {
    const { section, slots, payload } = fromBlockItem(item);
    const state = section === 'scheduled' ? 'scheduled' : 'active';
    return { ...NOTHING, [state]: slots.size, bytes: payload.bytes };
  };
  const tally = await countLog({ table, log: LOG, bound, tallyOf });
  return { ...tally, read: counter.read };
}

const dense = (blocks: number, messages: number) =>
  Array.from({ length: blocks }, (_, i) => block(1 + i * messages, messages));

test('a log whose blocks fit the first page is counted by one read', async () => {
  const { read, ...tally } = await count(dense(9, 3));
  assert.deepEqual(tally, { ...NOTHING, active: 27, bytes: 270 });
  assert.equal(read, 9);
});

test('a log of about as many messages as are counted one by one is counted exactly', async () => {
  const { active, isEstimate } = await count(dense(60, 2));
  assert.deepEqual({ active, isEstimate }, { active: 120, isEstimate: false });
});

test('a dense log is estimated well, at a cost that does not grow with it', async () => {
  const [some, many] = [await count(dense(1000, 25)), await count(dense(20_000, 25))];
  assert.ok(Math.abs(some.active - 25_000) < 500, `${some.active}`);
  assert.ok(Math.abs(many.active - 500_000) < 10_000, `${many.active}`);
  assert.ok(some.isEstimate && many.isEstimate);
  assert.ok(Math.abs(many.bytes - 10 * many.active) < 100);
  assert.ok(many.read <= some.read + 2, `${some.read} and ${many.read} items`);
});

test('a log with few messages left in wide gaps is estimated by their density', async () => {
  const sparse = Array.from({ length: 3000 }, (_, i) => block(1 + i * 97, 1));
  const { active } = await count(sparse);
  assert.ok(Math.abs(active - 3000) < 300, `${active}`);
});

test('one old message far in front does not make the estimate larger', async () => {
  const { active } = await count([block(1, 1), ...dense(1000, 25).slice(900)]);
  assert.ok(Math.abs(active - 2501) < 250, `${active}`);
});

test('deferred and scheduled messages are estimated, too', async () => {
  const all = Array.from({ length: 2000 }, (_, i) => {
    const section = (['live', 'deferred', 'scheduled'] as const)[i % 3];
    return block(1 + i * 10, 10, undefined, section);
  });
  const { active, scheduled } = await count(all);
  assert.ok(Math.abs(active - 13_333) < 1300, `${active}`);
  assert.ok(Math.abs(scheduled - 6667) < 700, `${scheduled}`);
});

test('of a log with sessions, what a bounded read has seen is a lower bound, marked as an estimate', async () => {
  const items = Array.from({ length: 400 }, (_, i) => block(1 + i * 5, 5, `s${i % 7}`));
  const { active, isEstimate, read } = await count(items);
  assert.ok(isEstimate);
  assert.ok(active >= 500 && active <= 2000, `${active}`);
  assert.ok(read <= 130, `${read} items`);
});

test('the logs of a partitioned entity share the cost of one', () => {
  const [whole, shared] = [sharedBound(1, new CountBudget()), sharedBound(16, new CountBudget())];
  assert.equal(shared.exactMessages * 16, whole.exactMessages);
  assert.ok(shared.samples * 16 <= whole.samples);
});

test('a report whose first pages have read much reads small ones of the logs that remain', () => {
  const budget = new CountBudget(300);
  for (const [wanted, given] of [
    [250, 250],
    [250, 250],
    [250, 25],
    [10, 10],
  ] as const) {
    assert.equal(budget.firstPage(wanted), given);
    budget.noteFirstPage(given);
  }
});
