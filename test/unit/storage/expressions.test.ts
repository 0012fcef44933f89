import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { Block } from '../../../shared/domain/blocks/block.ts';
import { SLOTS_MAX } from '../../../shared/domain/blocks/lock-token.ts';
import { type Log, logOf } from '../../../shared/domain/blocks/log.ts';
import { isHeld, type Slot } from '../../../shared/domain/blocks/slot.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import { fromBlockItem, slotName, toBlockItem } from '../../../shared/storage/blocks/block-item.ts';
import {
  blockDelete,
  blockUpdate,
  type SlotChange,
  type SlotEffect,
} from '../../../shared/storage/blocks/block-writes.ts';
import { keyOf } from '../../../shared/storage/blocks/read-blocks.ts';
import { Table } from '../../../shared/storage/dynamodb/table.ts';
import { engineClient, TABLES, tableOptions, tablesExist } from '../../support/start-broker.ts';

const NOW = 1_790_000_000_000;
const TAG = Uint8Array.of(1, 2, 3, 4, 5, 6, 7);
const OTHER = Uint8Array.of(1, 9, 9, 9, 9, 9, 9);
const LOCKED: Slot = { deliveries: 1, heldUntil: NOW + 1, tag: TAG };
const BY_LOCK = { kind: 'locked', tag: TAG, now: NOW } as const;

test('one change is one clause, with a condition on its own slot', () => {
  const change: SlotChange = { number: 10, when: BY_LOCK, effect: { kind: 'remove' } };
  assert.deepEqual(blockUpdate([change]), {
    UpdateExpression: 'REMOVE #s.#_A',
    ConditionExpression: '#s.#_A.#t = :v0 AND #s.#_A.#u > :v1',
    ExpressionAttributeNames: { '#s': 's', '#_A': 'A', '#t': 't', '#u': 'u' },
    ExpressionAttributeValues: { ':v0': { B: TAG }, ':v1': { N: String(NOW) } },
  });
});

test('changes of several slots become one write that shares equal values', () => {
  const seen: Slot = { deliveries: 0 };
  const update = blockUpdate([
    { number: 0, when: { kind: 'unchanged', slot: seen }, effect: { kind: 'set', slot: LOCKED } },
    { number: 1, when: { kind: 'unchanged', slot: seen }, effect: { kind: 'set', slot: LOCKED } },
    { number: 2, when: BY_LOCK, effect: { kind: 'remove' } },
    { number: 3, when: BY_LOCK, effect: { kind: 'release' } },
    { number: 4, when: BY_LOCK, effect: { kind: 'release', heldUntil: NOW + 9 } },
    { number: 5, when: BY_LOCK, effect: { kind: 'extend', until: NOW + 9 } },
  ]);
  assert.equal(
    update.UpdateExpression,
    'SET #s.#_0 = :v5, #s.#_1 = :v5, #s.#_4.#u = :v6, #s.#_5.#u = :v6 REMOVE #s.#_2, #s.#_3.#t, #s.#_3.#u, #s.#_4.#t',
  );
  assert.equal(Object.keys(update.ExpressionAttributeValues ?? {}).length, 7);
});

test('a deletion also requires that the block has no other message', () => {
  const { ConditionExpression, ExpressionAttributeValues } = blockDelete([
    { number: 0, when: BY_LOCK },
    { number: 1, when: BY_LOCK },
  ]);
  assert.match(ConditionExpression, / AND size\(#s\) = :v2$/);
  assert.deepEqual(ExpressionAttributeValues?.[':v2'], { N: '2' });
});

const EFFECTS: readonly SlotEffect[] = [
  { kind: 'set', slot: LOCKED },
  { kind: 'remove' },
  { kind: 'extend', until: NOW + 30_000 },
  { kind: 'release' },
  { kind: 'release', heldUntil: NOW + 30_000 },
];

/** Counts as the service does: comparisons (BETWEEN x AND y is one), AND, functions, and actions of an update. */
function operatorsIn(expression: string): number {
  const single = expression.replaceAll(/BETWEEN (\S+) AND/g, 'BETWEEN $1');
  return (single.match(/[=<>]+|\bAND\b|\bBETWEEN\b|\bsize\(|,|\bSET\b|\bREMOVE\b/g) ?? []).length;
}

/** A full block whose slots all differ as much as possible. */
const fullBlock = (): Block => ({
  section: 'live',
  sequence: 1n,
  enqueuedAt: NOW,
  slots: new Map(
    Array.from({ length: SLOTS_MAX }, (_, i) => [i, { ...LOCKED, heldUntil: NOW + 1 + i }]),
  ),
  payload: { parts: 0, offset: 0, bytes: 0 },
});

function changesOf(block: Block, kind: 'locked' | 'unchanged', effect: SlotEffect): SlotChange[] {
  return Array.from(block.slots, ([number, slot]) => ({
    number,
    when: kind === 'locked' ? BY_LOCK : { kind, slot },
    effect,
  }));
}

for (const effect of EFFECTS) {
  for (const kind of ['locked', 'unchanged'] as const) {
    const what = `${effect.kind}${'heldUntil' in effect ? ' with a delay' : ''}, if ${kind}`;
    test(`${SLOTS_MAX} changes in one write stay within the limits of expressions: ${what}`, async (t) => {
      const block = fullBlock();
      const update = blockUpdate(changesOf(block, kind, effect));
      for (const text of [update.UpdateExpression, update.ConditionExpression]) {
        assert.ok(Buffer.byteLength(text) <= 4096, `${Buffer.byteLength(text)} bytes`);
        assert.ok(operatorsIn(text) <= 300, `${operatorsIn(text)} operators`);
      }
      const { table, log } = await startTable(t);
      await table.put(toBlockItem(log, block));
      const written = await table.update(keyOf(log, block), update);
      assert.equal(written.done, true);
    });
  }
}

test('the deletion of a full block stays within the limits too', async (t) => {
  const block = fullBlock();
  for (const kind of ['locked', 'unchanged'] as const) {
    const request = blockDelete(changesOf(block, kind, { kind: 'remove' }));
    assert.ok(Buffer.byteLength(request.ConditionExpression) <= 4096);
    assert.ok(operatorsIn(request.ConditionExpression) <= 300);
    const { table, log } = await startTable(t);
    await table.put(toBlockItem(log, block));
    assert.equal((await table.delete(keyOf(log, block), request)).done, true);
  }
});

async function startTable(t: TestContext): Promise<{ table: Table; log: Log }> {
  const client = engineClient();
  t.after(() => client.destroy());
  await tablesExist();
  const entity: Entity = {
    id: randomBytes(6).toString('hex'),
    key: 'q',
    name: 'q',
    epoch: 1,
    generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
    createdAt: NOW,
    updatedAt: NOW,
    description: QUEUE_DEFAULTS,
  };
  return {
    table: new Table(client, TABLES.messages, tableOptions()),
    log: logOf(entity, 'main', 0),
  };
}

test('the name of each slot is one letter, and a block has no more slots than names', () => {
  const names = Array.from({ length: SLOTS_MAX }, (_, i) => slotName(i));
  assert.equal(new Set(names).size, SLOTS_MAX);
  assert.ok(names.every((name) => name.length === 1));
  assert.throws(() => slotName(SLOTS_MAX), /Invariant violated/);
  assert.throws(() => slotName(-1), /Invariant violated/);
});

const slot: fc.Arbitrary<Slot> = fc.record(
  {
    deliveries: fc.nat(3),
    heldUntil: fc.constantFrom(NOW - 1, NOW, NOW + 1, NOW + 30_000),
    tag: fc.constantFrom(TAG, OTHER),
    expiresAt: fc.constantFrom(NOW, NOW + 1),
  },
  { requiredKeys: ['deliveries'], noNullPrototype: true },
);
const slots = fc
  .dictionary(fc.nat(SLOTS_MAX - 1).map(String), slot, { minKeys: 1, maxKeys: 8 })
  .map((drawn) => new Map(Object.entries(drawn).map(([number, one]) => [Number(number), one])));

test('a block is read from the database as it was written', async (t) => {
  const { table, log } = await startTable(t);
  const payloads: readonly Block['payload'][] = [
    { inline: randomBytes(20), parts: 0, offset: 0, bytes: 7 },
    { reference: 'abc', parts: 1, offset: 3, bytes: 70_000 },
    { inline: randomBytes(9), reference: 'abc', parts: 4, offset: 0, bytes: 1, overlay: TAG },
  ];
  await fc.assert(
    fc.asyncProperty(slots, fc.constantFrom(...payloads), async (drawn, payload) => {
      for (const section of ['live', 'returned', 'deferred'] as const) {
        const block: Block = {
          section,
          sequence: 2n ** 47n,
          enqueuedAt: NOW,
          slots: drawn,
          payload,
        };
        await table.put(toBlockItem(log, block));
        const item = await table.get(keyOf(log, block), { consistent: true });
        assert.ok(item);
        const read = fromBlockItem(item);
        assert.deepEqual(plainBlock(read), plainBlock(block));
      }
    }),
    { numRuns: 20 },
  );
});

/** A comparable form without Buffers, and without the order of slots, which a map in the database loses. */
function plainBlock(block: Block): unknown {
  const entries = [...block.slots].sort(([a], [b]) => a - b);
  return JSON.parse(
    JSON.stringify({ ...block, slots: entries }, (_, value: unknown) => {
      if (typeof value === 'bigint') return `${value}n`;
      return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
    }).replaceAll(/\{"type":"Buffer","data":(\[[\d,]*\])\}/g, (_, data: string) =>
      JSON.stringify(Buffer.from(JSON.parse(data) as number[]).toString('hex')),
    ),
  );
}

const same = (a: unknown, b: unknown) => fc.stringify(a) === fc.stringify(b);

/** The effect of a write, as a simple reference. */
function model(before: ReadonlyMap<number, Slot>, changes: readonly SlotChange[]) {
  const after = new Map(before);
  for (const { number, when, effect } of changes) {
    const now = before.get(number);
    const holds =
      now !== undefined &&
      (when.kind === 'unchanged'
        ? same(now, when.slot)
        : now.tag !== undefined &&
          same(now.tag, when.tag) &&
          isHeld(now, { epoch: 1 }, when.now ?? 0));
    if (!holds) return undefined;
    if (effect.kind === 'extend' && (now.heldUntil ?? 0) >= effect.until) return undefined;
    const { heldUntil, tag, ...rest } = now;
    if (effect.kind === 'remove') after.delete(number);
    else if (effect.kind === 'set') after.set(number, effect.slot);
    else if (effect.kind === 'extend') {
      after.set(number, {
        ...rest,
        heldUntil: effect.until,
        ...(tag === undefined ? {} : { tag }),
      });
    } else {
      after.set(number, {
        ...rest,
        ...(effect.heldUntil === undefined ? {} : { heldUntil: effect.heldUntil }),
      });
    }
  }
  return after;
}

test('a write makes all its changes if all conditions hold, and otherwise none', async (t) => {
  const { table, log } = await startTable(t);
  const decision = fc.tuple(fc.boolean(), fc.boolean(), fc.constantFrom(...EFFECTS));
  await fc.assert(
    fc.asyncProperty(
      slots,
      fc.array(decision, { minLength: 8, maxLength: 8 }),
      async (drawn, how) => {
        const changes = Array.from(drawn, ([number, seen], i): SlotChange => {
          const [byLock, isStale, effect] = how[i] ?? [false, false, { kind: 'remove' as const }];
          if (byLock) return { number, when: BY_LOCK, effect };
          // A renewal always has a condition on the lock, because it changes an attribute that must exist.
          const whole = effect.kind === 'extend' ? ({ kind: 'remove' } as const) : effect;
          const slotSeen = isStale && i === 0 ? { ...seen, deliveries: seen.deliveries + 1 } : seen;
          return { number, when: { kind: 'unchanged', slot: slotSeen }, effect: whole };
        });
        const block: Block = { ...fullBlock(), slots: drawn };
        await table.put(toBlockItem(log, block));
        const written = await table.update(keyOf(log, block), blockUpdate(changes));
        const expected = model(drawn, changes);
        assert.equal(written.done, expected !== undefined);
        const item = await table.get(keyOf(log, block), { consistent: true });
        assert.ok(item);
        assert.deepEqual(
          plainBlock(fromBlockItem(item)),
          plainBlock({ ...block, slots: expected ?? drawn }),
        );
      },
    ),
    { numRuns: 100 },
  );
});
