import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Block } from '../../../shared/domain/blocks/block.ts';
import { SLOTS_MAX } from '../../../shared/domain/blocks/lock-token.ts';
import { type Log, logOf } from '../../../shared/domain/blocks/log.ts';
import type { Slot } from '../../../shared/domain/blocks/slot.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import type { Message } from '../../../shared/domain/messages/message.ts';
import { toBlockItem } from '../../../shared/storage/blocks/block-item.ts';
import { brotli } from '../../../shared/storage/blocks/compression.ts';
import { decodeMessages } from '../../../shared/storage/blocks/message-codec.ts';
import {
  BLOCKS_PER_SEND_AIM,
  cutBlocks,
  inARow,
  type PackedBlock,
  packBlocks,
} from '../../../shared/storage/blocks/pack-blocks.ts';
import { putPayloads } from '../../../shared/storage/blocks/payloads.ts';
import { UnitMeter } from '../../../shared/storage/dynamodb/capacity-meter.ts';
import {
  ITEM_BYTES_MAX,
  itemSize,
  UNIT_BYTES,
} from '../../../shared/storage/dynamodb/item-size.ts';
import { type Item, Table } from '../../../shared/storage/dynamodb/table.ts';
import { engineClient, TABLES, tableOptions, tablesExist } from '../../support/start-broker.ts';

const NOW = Date.UTC(2026, 0, 1);
const KB = 1024;
const ENTITY: Entity = {
  id: 'abcdefgh',
  key: 'q',
  name: 'q',
  epoch: 0,
  generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
  createdAt: NOW,
  updatedAt: NOW,
  description: QUEUE_DEFAULTS,
};
const LOG: Log = logOf(ENTITY, 'main', 0);

const message = (body: Uint8Array, more: Partial<Message> = {}): Message => ({
  messageId: randomBytes(16).toString('hex'),
  body,
  properties: {},
  ...more,
});
const many = (count: number, make: (i: number) => Message) =>
  Array.from({ length: count }, (_, i) => make(i));

const pack = (messages: readonly Message[], log = LOG) =>
  packBlocks(log, cutBlocks(log, inARow(messages)), NOW, {
    compression: brotli,
    reference: () => randomBytes(9).toString('base64url'),
  });

/** The block with all its messages locked, after many deliveries. */
function lockedBlock({ parts: _, ...packed }: PackedBlock): Block {
  const lock: Slot = { deliveries: 10, heldUntil: NOW + 300_000, tag: randomBytes(7) };
  return {
    section: 'returned',
    sequence: 123_456_789n,
    enqueuedAt: NOW,
    ...packed,
    slots: new Map(Array.from(packed.slots, ([number, slot]) => [number, { ...slot, ...lock }])),
  };
}

const PACKED: readonly (readonly [string, readonly Message[]])[] = [
  ['one empty message', [message(new Uint8Array())]],
  ['one message of 200 bytes', [message(randomBytes(200))]],
  ['one message of 900 bytes', [message(randomBytes(900))]],
  ['one message of 64 KB', [message(randomBytes(64 * KB))]],
  ['one message of 1 MiB', [message(randomBytes(1024 * KB))]],
  ['2 messages of 400 bytes', many(2, () => message(randomBytes(400)))],
  ['24 small messages', many(24, () => message(randomBytes(20)))],
  ['33 messages of 200 bytes', many(33, () => message(randomBytes(200)))],
  ['34 messages of 200 bytes', many(34, () => message(randomBytes(200)))],
  ['100 messages of 1 KB', many(100, () => message(randomBytes(KB)))],
  ['100 with one time to live', many(100, () => message(randomBytes(200), { timeToLiveMs: 5000 }))],
  [
    '100 messages with different times to live',
    many(100, (i) => message(randomBytes(50), { timeToLiveMs: 5000 + i })),
  ],
  ['1,000 empty messages', many(1000, () => message(new Uint8Array()))],
];

for (const [what, messages] of PACKED) {
  test(`${what}: blocks cost one write unit even with every message locked`, async () => {
    for (const packed of await pack(messages)) {
      const size = itemSize(toBlockItem(LOG, lockedBlock(packed)));
      assert.ok(size <= UNIT_BYTES, `${size} bytes with ${packed.slots.size} messages`);
    }
  });

  test(`${what}: the payload holds all messages in order, in items that the database accepts`, async () => {
    const read: unknown[] = [];
    for (const { payload, parts, slots } of await pack(messages)) {
      assert.equal(parts.length, payload.parts);
      for (const part of parts) assert.ok(part.byteLength <= ITEM_BYTES_MAX);
      assert.deepEqual(
        [...slots.keys()],
        Array.from({ length: slots.size }, (_, i) => i),
      );
      const bytes = Buffer.concat([...(payload.inline ? [payload.inline] : []), ...parts]);
      const decoded = await decodeMessages(bytes, brotli);
      assert.equal(decoded.length, slots.size);
      for (const one of decoded) {
        read.push([one?.messageId, Buffer.from(one?.body ?? []).toString('hex')]);
      }
    }
    assert.deepEqual(
      read,
      messages.map(({ messageId, body }) => [messageId, Buffer.from(body).toString('hex')]),
    );
  });
}

test('how a log is cut depends on no other log that the process has seen', async () => {
  const plain: Log = logOf({ ...ENTITY, id: 'longer-id' }, 'main', 0);
  const consumed: Log = { ...plain, isConsumed: true };
  const session = (sessionId: string): Log => ({ ...logOf(ENTITY, 'main', 0), sessionId });
  const messages = many(100, () => message(randomBytes(20)));
  const blocksOf = async (log: Log) => (await pack(messages, log)).map(({ slots }) => slots.size);
  const expected = new Map<Log, readonly number[]>([
    [consumed, [25, 25, 25, 25]],
    [plain, [34, 34, 32]],
    [session('s'.repeat(100)), [25, 25, 25, 25]],
    [session('s'), [34, 34, 32]],
  ]);
  for (const [log, sizes] of [...expected, ...[...expected].reverse()]) {
    assert.deepEqual(await blocksOf(log), sizes);
    for (const packed of await pack(messages, log)) {
      assert.ok(
        itemSize(toBlockItem(log, { ...lockedBlock(packed), section: 'live' })) <= UNIT_BYTES,
      );
    }
  }
});

for (const [what, messages] of [
  ['4,500 empty messages', many(4500, () => message(new Uint8Array()))],
  ['4,500 messages of 230 bytes', many(4500, () => message(randomBytes(230)))],
  [
    '4,500 messages with different times to live',
    many(4500, (i) => message(randomBytes(9), { timeToLiveMs: 1 + i })),
  ],
  ['4 messages of 256 KB', many(4, () => message(randomBytes(256 * KB)))],
  [
    'one large message and 4,400 small ones',
    [message(randomBytes(256 * KB)), ...many(4400, () => message(randomBytes(100)))],
  ],
  [
    'large and small messages alternately',
    many(200, (i) => message(randomBytes(i % 2 === 0 ? 10_000 : 10))),
  ],
] as const) {
  test(`${what} fit into one transaction, and no block exceeds its slots`, async () => {
    const blocks = await pack(messages);
    assert.ok(blocks.length <= BLOCKS_PER_SEND_AIM, `${blocks.length} blocks`);
    assert.ok(blocks.every(({ slots }) => slots.size >= 1 && slots.size <= SLOTS_MAX));
    assert.equal(
      blocks.reduce((sum, { slots }) => sum + slots.size, 0),
      messages.length,
    );
  });
}

test('a time to live that is the same for all messages is stored once in the block', async () => {
  const [same] = await pack(many(3, () => message(randomBytes(9), { timeToLiveMs: 5000 })));
  assert.equal(same?.expiresAt, NOW + 5000);
  assert.ok([...(same?.slots.values() ?? [])].every(({ expiresAt }) => expiresAt === undefined));
  const [mixed] = await pack([
    message(randomBytes(9), { timeToLiveMs: 5000 }),
    message(randomBytes(9)),
  ]);
  assert.equal(mixed?.expiresAt, undefined);
  assert.deepEqual(
    [mixed?.slots.get(0)?.expiresAt, mixed?.slots.get(1)?.expiresAt],
    [NOW + 5000, undefined],
  );
});

interface Engine {
  readonly table: Table;
  readonly meter: UnitMeter;
  readonly log: Log;
}

async function startEngine(t: TestContext): Promise<Engine> {
  const client = engineClient();
  t.after(() => client.destroy());
  await tablesExist();
  const meter = new UnitMeter();
  const log = { ...LOG, entityId: randomBytes(6).toString('base64url') };
  return { table: new Table(client, TABLES.messages, tableOptions(meter)), meter, log };
}

async function unitsOfPut({ table, meter }: Engine, item: Item): Promise<number> {
  meter.take();
  await table.put(item);
  return meter.take().write;
}

const SHAPES: readonly (readonly [string, (filler: Uint8Array) => Item])[] = [
  ['bytes', (d) => ({ d: { B: d } })],
  ['text', (d) => ({ d: { S: 'ä'.repeat(d.length >> 1) + 'x'.repeat(d.length % 2) } })],
  ['small numbers', (d) => ({ a: { N: '7' }, b: { N: '10' }, c: { N: '123' }, d: { B: d } })],
  ['an instant', (d) => ({ u: { N: '1790000000123' }, d: { B: d } })],
  ['zero and a negative number', (d) => ({ z: { N: '0' }, n: { N: '-1234567' }, d: { B: d } })],
  ['empty maps', (d) => ({ s: { M: { A: { M: {} }, B: { M: {} } } }, d: { B: d } })],
  [
    'a locked slot',
    (d) => ({
      s: {
        M: { A: { M: { t: { B: randomBytes(7) }, u: { N: '1790000000123' }, c: { N: '12' } } } },
      },
      d: { B: d },
    }),
  ],
];

for (const [what, shape] of SHAPES) {
  test(`the computed size of an item with ${what} is never less than that of the engine`, async (t) => {
    const engine = await startEngine(t);
    const make = (length: number): Item => ({
      pk: { S: engine.log.entityId },
      sk: { S: 'x' },
      ...shape(new Uint8Array(length)),
    });
    const empty = itemSize(make(0));
    const full = make(UNIT_BYTES - empty);
    assert.equal(itemSize(full), UNIT_BYTES);
    assert.equal(await unitsOfPut(engine, full), 1);
    // Nor much more, which would waste space.
    assert.equal(await unitsOfPut(engine, make(UNIT_BYTES - empty + 16)), 2);
  });
}

for (const [what, messages] of PACKED.filter(([, list]) => list.length < 200)) {
  test(`${what}: the engine charges one unit for each block with all messages locked`, async (t) => {
    const engine = await startEngine(t);
    for (const packed of await pack(messages, engine.log)) {
      assert.equal(await unitsOfPut(engine, toBlockItem(engine.log, lockedBlock(packed))), 1);
    }
  });
}

for (const kilobytes of [1, 8, 64, 256]) {
  test(`an incompressible payload of ${kilobytes} KB costs no more units than its size`, async (t) => {
    const { table, meter, log } = await startEngine(t);
    for (let round = 0; round < 3; round++) {
      const [packed, ...others] = await pack([message(randomBytes(kilobytes * KB))], log);
      assert.ok(packed);
      assert.deepEqual(others, []);
      const { reference } = packed.payload;
      assert.ok(reference !== undefined);
      meter.take();
      await putPayloads(table, log, [{ reference, parts: packed.parts }], NOW);
      assert.equal(meter.take().write, kilobytes);
    }
  });
}
