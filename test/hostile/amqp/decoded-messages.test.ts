import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BATCH_FORMAT, readDelivery } from '../../../amqp/messages/read-message.ts';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { encode } from '../../../amqp/wire/encode.ts';
import { type AmqpValue, binary, described, list, str, ulong } from '../../../amqp/wire/value.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { MB } from '../../../shared/domain/units.ts';
import { FakePeer, fakeGateway, turnScheduler, turnsUntil } from '../../support/fake-peer.ts';
import { dataMessage } from '../../support/raw-session.ts';
import { singleTurns } from '../../support/single-turns.ts';

const { decodedShareOfProcess, heldPerByte, heldPerShownByte, turnBytes } = BUDGETS.delivery;
const { turnReadBytes } = BUDGETS.connection;
const { sentMessageBytes } = BUDGETS.weights;
const PART_BYTES = 60_000;
const LIMIT = 40 * MB;
const valueMessage = (...values: readonly AmqpValue[]) =>
  writeSections({ body: [described(SECTION.value, list(values))] });
/** A message whose JSON is six times as long. */
const shownLonger = (bytes: number, first = 'm') =>
  valueMessage(str(first), str('\0'.repeat(bytes)));

type Changes = Parameters<typeof fakeGateway>[0];

/** A peer with links to send on; the broker stores nothing while `isHeld`. */
async function sender(t: TestContext, links: number, changes: Changes = {}) {
  const memory = changes.memory ?? new MemoryBudget(Number.POSITIVE_INFINITY);
  const made = fakeGateway({ ...changes, memory });
  const { broker, gateway } = made;
  const stored: OutgoingMessage[] = [];
  const waiting: (() => void)[] = [];
  const state = { isHeld: true, sends: 0 };
  broker.send = async (_, messages) => {
    state.sends++;
    if (state.isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    stored.push(...messages);
    return [];
  };
  const peer = await FakePeer.root(gateway);
  t.after(() => peer.lost());
  for (let handle = 0; handle < links; handle++) peer.attach('sender', 'q', handle);
  await peer.settled();
  let deliveryId = 0;
  const send = (
    handle: number,
    payload: Uint8Array,
    { settled = false, messageFormat = 0 } = {},
  ) => {
    for (let at = 0; at < payload.length; at += PART_BYTES) {
      const more = at + PART_BYTES < payload.length;
      const first = { kind: 'transfer', handle, deliveryId, deliveryTag: Buffer.of(1) } as const;
      peer.say({ ...first, messageFormat, settled, more }, payload.subarray(at, at + PART_BYTES));
    }
    deliveryId++;
  };
  const letGo = () => {
    state.isHeld = false;
    for (const resolve of waiting.splice(0)) resolve();
  };
  return { ...made, peer, send, stored, state, letGo };
}

const textOf = (
  { body }: OutgoingMessage | undefined = { body: Buffer.alloc(0), properties: {} },
) => Buffer.from(body ?? []).toString('utf8', 0, 20);

test('row 5: decoded messages of one connection take a share of the memory, and all are stored', async (t) => {
  const memory = new MemoryBudget(LIMIT);
  const { send, stored, state, letGo, peer, faults } = await sender(t, 16, { memory });
  const payload = shownLonger(100_000);
  const copies = payload.length * (heldPerByte + 6 * heldPerShownByte);
  for (let i = 0; i < 32; i++) send(i % 16, payload);
  await turnsUntil(() => false, 300);
  const most = LIMIT * decodedShareOfProcess;
  assert.ok(16 * copies > 1.5 * most, 'enough is sent');
  const held = memory.held - 32 * payload.length;
  assert.ok(held < most + MB, `${held} bytes of copies`);
  assert.ok(state.sends > 1 && state.sends * copies > most / 2, `${state.sends} at a time`);
  letGo();
  await turnsUntil(() => stored.length === 32);
  assert.equal(stored.length, 32);
  assert.deepEqual(faults, []);
  peer.lost();
  await turnsUntil(() => memory.held === 0, 100);
  assert.equal(memory.held, 0);
});

test('row 5: a message that takes more than that share is stored alone, in order', async (t) => {
  const memory = new MemoryBudget(LIMIT);
  const { send, stored, state, letGo } = await sender(t, 3, { memory });
  const large = 1_000_000;
  assert.ok(large * 6 * heldPerShownByte > LIMIT * decodedShareOfProcess);
  send(0, shownLonger(10, 'one'));
  send(1, shownLonger(large, 'two'));
  send(1, shownLonger(10, 'three'));
  await turnsUntil(() => false, 100);
  send(2, shownLonger(10, 'four'));
  await turnsUntil(() => false, 100);
  assert.equal(state.sends, 1, 'it waits for the one before it, and the one behind it for it');
  letGo();
  await turnsUntil(() => stored.length === 4);
  const texts = stored.map((one) => /\w+/.exec(textOf(one))?.[0]);
  assert.deepEqual(texts.slice(0, 2), ['one', 'two']);
  assert.deepEqual(texts.slice(2).sort(), ['four', 'three']);
});

test('row 5: many links of one connection store small messages at the same time', async (t) => {
  const links = 100;
  const { send, state } = await sender(t, links, { memory: new MemoryBudget(LIMIT) });
  for (let i = 0; i < links; i++) send(i, dataMessage('x'.repeat(17_000)));
  await turnsUntil(() => state.sends === links);
  assert.equal(state.sends, links);
});

test('row 5: the JSON of a body counts with its actual length once it is written', async (t) => {
  const memory = new MemoryBudget(LIMIT);
  const { send, state } = await sender(t, 1, { memory });
  const zero = ulong(0n);
  const count = 50_000;
  const empty = memory.held;
  const payload = valueMessage(...Array<AmqpValue>(count).fill(zero));
  send(0, payload);
  await turnsUntil(() => state.sends === 1);
  const most = payload.length * (1 + heldPerByte) + 2 * count * heldPerShownByte;
  const held = memory.held - empty;
  assert.ok(held <= most + sentMessageBytes + 1000, `${held} of ${most}`);
});

test('row 5: every message of a batch counts, however small it is', async (t) => {
  const memory = new MemoryBudget(LIMIT);
  const links = 20;
  const { send, stored, state, letGo } = await sender(t, links, { memory });
  const count = 3000;
  const batch = Buffer.concat(Array<Buffer>(count).fill(dataMessage('')));
  for (let i = 0; i < links; i++) send(i, batch, { messageFormat: BATCH_FORMAT });
  await turnsUntil(() => false, 500);
  const most = LIMIT * decodedShareOfProcess;
  assert.ok(state.sends > 0 && state.sends * count * sentMessageBytes <= most, `${state.sends}`);
  letGo();
  await turnsUntil(() => stored.length === links * count);
  assert.equal(stored.length, links * count);
});

/** A message whose value is a list of arrays of 1,024 zeros each, which take no bytes. */
function zeros(arrays: number): Buffer {
  const elements = Buffer.alloc(arrays * 10);
  for (let i = 0; i < arrays; i++) {
    elements.set([0xf0, 0, 0, 0, 5, 0, 0, 1024 / 256, 0, 0x44], 10 * i);
  }
  const head = Buffer.from([0, 0x53, 0x77, 0xd0, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(4 + elements.length, 4);
  head.writeUInt32BE(arrays, 8);
  return Buffer.concat([head, elements]);
}

test('row 5: few values without bytes are decoded, and their memory counts', () => {
  let held = 0;
  const hold = (bytes: number) => {
    held += bytes;
  };
  const [message] = readDelivery(zeros(1), 0, hold);
  const kept = message?.amqp?.byteLength ?? 0;
  assert.ok(kept > 1024 && held >= kept, `${held} of ${kept}`);
  for (const arrays of [2, 240]) {
    assert.throws(() => readDelivery(zeros(arrays), 0, hold), /Too many values/);
  }
  const data = encode(described(SECTION.data, binary(zeros(1))));
  const batch = Buffer.concat(Array<Buffer>(10).fill(data));
  assert.throws(() => readDelivery(batch, BATCH_FORMAT, hold), /Too many values/);
});

test('row 8: a presettled message is not dropped for lack of memory, but tried again', async (t) => {
  const memory = new MemoryBudget(LIMIT);
  const pauses: (() => void)[] = [];
  const scheduler = {
    ...turnScheduler,
    after: (ms: number, work: () => void) => {
      if (ms > 5000) return realScheduler.after(ms, work);
      pauses.push(work);
      return { cancel: () => {} };
    },
  };
  const { send, stored, letGo, faults } = await sender(t, 1, { memory, scheduler });
  letGo();
  const work = memory.open(LIMIT, () => {});
  work.pin();
  work.hold(memory.free);
  send(0, dataMessage('one'), { settled: true });
  send(0, dataMessage('two'), { settled: true });
  for (let tries = 0; tries < 5; tries++) {
    await turnsUntil(() => pauses.length > 0, 100);
    assert.deepEqual([pauses.length, stored.length], [1, 0]);
    if (tries === 4) work.close();
    pauses.pop()?.();
  }
  await turnsUntil(() => stored.length === 2, 100);
  assert.deepEqual(stored.map(textOf), ['one', 'two']);
  assert.deepEqual(faults, []);
});

/** The most bytes decoded in one turn, which spans several turns of the event loop, of messages on each link. */
async function mostRead(
  t: TestContext,
  {
    links,
    count,
    bytes,
    loopTurns,
  }: Readonly<Record<'links' | 'count' | 'bytes' | 'loopTurns', number>>,
): Promise<number> {
  const { workTurns, end } = singleTurns();
  const memory = new MemoryBudget(LIMIT);
  // As time stands still, all arrives before it is decoded: input would count as decoded.
  const { send, state } = await sender(t, links, { memory, workTurns });
  const payload = dataMessage('x'.repeat(bytes));
  const copies = payload.length * heldPerByte;
  const before = memory.held;
  for (let i = 0; i < count; i++) send(i % links, payload);
  const read = () => Math.round((memory.held - before - count * payload.length) / copies);
  let most = 0;
  for (let turns = 0, last = 0; turns < 100 && state.sends < count; turns++) {
    await turnsUntil(() => false, loopTurns);
    most = Math.max(most, read() - last);
    last = read();
    end();
  }
  assert.equal(state.sends, count);
  return most * payload.length;
}

test('row 5: of large messages that are stored together, one is decoded in a turn', async (t) => {
  const bytes = 200_000;
  const most = await mostRead(t, { links: 1, count: 2, bytes, loopTurns: 10 });
  assert.ok(most < 2 * bytes, `${most} bytes in a turn`);
});

test('row 5: of small messages on many links, a few are decoded in a turn', async (t) => {
  const bytes = turnBytes / 4;
  const most = await mostRead(t, { links: 100, count: 100, bytes, loopTurns: 1 });
  // Some may be decoded before the test looks, others after it in the same turn.
  assert.ok(most <= 2 * (turnReadBytes + bytes), `${most} bytes in a turn`);
});

test('row 12: small messages do not wait for large ones, however many arrive', async (t) => {
  const { workTurns } = singleTurns();
  // Its turn never ends.
  await workTurns.next();
  const { send, stored, letGo } = await sender(t, 1, { workTurns });
  letGo();
  const payload = dataMessage('x'.repeat(200));
  const count = 5 * (turnBytes / payload.length);
  for (let sent = 0; sent < count; sent++) {
    send(0, payload);
    await turnsUntil(() => stored.length > sent, 100);
  }
  // The same for several at once.
  for (let sent = 0; sent < count; sent++) send(0, payload);
  await turnsUntil(() => stored.length >= 2 * count, 1000);
  assert.ok(stored.length >= 2 * count, `${stored.length} of 2 * ${count} are stored`);
});
