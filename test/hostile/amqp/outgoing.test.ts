import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { MB } from '../../../shared/domain/units.ts';
import { FakePeer, fakeGateway, lockedMessage, turn, turnsUntil } from '../../support/fake-peer.ts';

const { authorized } = BUDGETS.connection;
const LARGE_BYTES = 250_000;
/** The most messages of this size that one receive returns. */
const LARGE_COUNT = Math.floor(LIMITS.receiveBytes / LARGE_BYTES);

/** A receive that finds nothing until it is aborted. */
async function waitInVain(signal?: AbortSignal): Promise<readonly []> {
  if (signal !== undefined && !signal.aborted) await once(signal, 'abort');
  return [];
}

/** A gateway with messages of one size, of which each receive returns a few. */
function gatewayOf(count: number, bytes: number, perReceive: number, memory?: MemoryBudget) {
  const made = fakeGateway(memory === undefined ? {} : { memory });
  let given = 0;
  const calls = { underWay: 0, most: 0 };
  made.broker.receive = async (_path, { signal }): Promise<readonly ReceivedMessage[]> => {
    const first = given;
    given = Math.min(count, first + perReceive);
    if (given === first) return await waitInVain(signal);
    calls.underWay++;
    calls.most = Math.max(calls.most, calls.underWay);
    for (let i = 0; i < 3; i++) await turn();
    calls.underWay--;
    return Array.from({ length: given - first }, (_, i) => lockedMessage(first + i, bytes));
  };
  made.broker.settle = async () => [];
  return { ...made, calls };
}

test('row 5: the largest message fits into the memory limit of a connection', async () => {
  const bytes = 100 * MB;
  const { gateway, memory, faults } = gatewayOf(1, bytes, 1);
  const peer = await FakePeer.root(gateway);
  await peer.receive('q', 1, 1);
  let most = 0;
  await turnsUntil(() => {
    most = Math.max(most, memory.held);
    return peer.written > bytes || peer.isDestroyed;
  });
  assert.equal(peer.isDestroyed, false);
  assert.ok(peer.written > bytes, `${peer.written} bytes were written`);
  assert.ok(most <= authorized.heldBytes, `${most} bytes were held`);
  assert.deepEqual(faults, []);
  peer.lost();
});

test('row 5: large messages on several links are sent one after the other', async () => {
  const [count, bytes] = [3, 60 * MB];
  const { gateway } = gatewayOf(count, bytes, 1);
  const peer = await FakePeer.root(gateway);
  await peer.receive('q', count, 1);
  const began = performance.now();
  while (peer.written < count * bytes && !peer.isDestroyed && performance.now() - began < 20_000)
    await turn();
  assert.equal(peer.isDestroyed, false);
  assert.ok(peer.written > count * bytes, `${peer.written} bytes were written`);
  peer.lost();
});

for (const isTaking of [true, false]) {
  const who = isTaking ? 'takes what it is sent' : 'takes nothing for now';
  test(`row 5: a connection with 60 receivers whose peer ${who} is not closed`, async () => {
    const links = 60;
    const count = 2 * links * LARGE_COUNT;
    const { gateway, memory, calls } = gatewayOf(count, LARGE_BYTES, LARGE_COUNT);
    const peer = await FakePeer.root(gateway);
    peer.isTaking = isTaking;
    await peer.receive('q', links, 100);
    let most = 0;
    const watch = () => {
      most = Math.max(most, memory.held);
      return peer.isDestroyed;
    };
    await turnsUntil(watch, 500);
    assert.equal(peer.isDestroyed, false);
    peer.isTaking = true;
    peer.take();
    const began = performance.now();
    while (peer.written < count * LARGE_BYTES && performance.now() - began < 20_000) {
      watch();
      await turn();
    }
    assert.equal(peer.isDestroyed, false);
    assert.ok(peer.written > count * LARGE_BYTES, `${peer.written} bytes were written`);
    const { backlogBytes, claimBytes } = BUDGETS.connection;
    assert.ok(most < backlogBytes + claimBytes + 2 * MB, `${most} bytes were held`);
    assert.ok(calls.most <= claimBytes / LIMITS.receiveBytes, `${calls.most} claims at once`);
    peer.lost();
  });
}

test('row 5: links that wait for messages take no allowance from links with messages', async () => {
  const { gateway, broker } = fakeGateway();
  const waiting = 60;
  let calls = 0;
  broker.receive = async (_path, { beforeAttempt, onWait, signal }) => {
    calls++;
    await beforeAttempt?.();
    if (calls <= waiting) {
      onWait?.();
      return await waitInVain(signal);
    }
    return calls === waiting + 1 ? [lockedMessage(1, 10)] : await waitInVain(signal);
  };
  const peer = await FakePeer.root(gateway);
  await peer.receive('q', waiting + 1, 100);
  await turnsUntil(() => calls > waiting, 500);
  assert.ok(calls > waiting, `${calls} receives`);
  peer.lost();
});

test('small frames are written a few at a time', async () => {
  const bytes = 2 * MB;
  const frameBytes = 512;
  const { gateway } = gatewayOf(1, bytes, 1);
  const peer = await FakePeer.root(gateway, frameBytes);
  await peer.receive('q', 1, 1);
  await turnsUntil(() => peer.written > bytes);
  assert.ok(peer.written > bytes, `${peer.written} bytes were written`);
  const frames = Math.max(...peer.writes) / frameBytes;
  assert.ok(frames <= BUDGETS.connection.turnParts + 1, `${frames} frames in one turn`);
  peer.lost();
});

test('replies that waited for the window are written a part at a time', async () => {
  const [message, drained] = [0, 1];
  const { turnParts } = BUDGETS.connection;
  const { gateway } = gatewayOf(1, 1, 1);
  const peer = await FakePeer.root(gateway);
  peer.attach('receiver', 'q', message);
  peer.attach('receiver', 'q/$management', drained);
  await peer.settled();
  const flow = (incomingWindow: number, link: { handle?: number; drain?: boolean }) => {
    const windows = { nextIncomingId: 0, incomingWindow, nextOutgoingId: 0, outgoingWindow: 100 };
    peer.say({ kind: 'flow', ...windows, ...link, deliveryCount: 0, linkCredit: 1 });
  };
  const opened = 1_000_000;
  flow(opened, { handle: drained, drain: true });
  await peer.settled();
  const answerBytes = peer.writes.at(-1) ?? 0;
  flow(0, { handle: message });
  await peer.settled();
  const before = peer.writes.length;
  const count = 5 * turnParts;
  for (let i = 0; i < count; i++) flow(0, { handle: drained, drain: true });
  await turnsUntil(() => false, 50);
  assert.equal(peer.writes.length, before, 'they wait');
  flow(opened, {});
  await turnsUntil(() => peer.written > count * answerBytes, 500);
  const answers = Math.max(...peer.writes.slice(before)) / answerBytes;
  assert.ok(answers <= 1.2 * turnParts, `${answers} answers in one turn`);
  assert.ok(peer.written > count * answerBytes, 'all of them come');
  peer.lost();
});

test('an evicted connection frees its memory, not only its share of the budget', async () => {
  const memory = new MemoryBudget(20 * MB);
  const { gateway } = gatewayOf(LARGE_COUNT, LARGE_BYTES, LARGE_COUNT, memory);
  const hoarder = await FakePeer.root(gateway);
  hoarder.isTaking = false;
  await hoarder.receive('q', 1, LARGE_COUNT);
  await turnsUntil(() => hoarder.written > 2 * MB, 500);
  assert.equal(hoarder.isDestroyed || hoarder.isEnded, false);
  for (let i = 0; i < 20; i++) memory.open(MB, () => {}).hold(MB);
  assert.equal(hoarder.isDestroyed, true);
});

test('an evicted connection with nothing to send gets an error', async () => {
  const memory = new MemoryBudget(200_000);
  const { gateway } = fakeGateway({ memory });
  const hoarder = await FakePeer.root(gateway);
  const frame = Buffer.concat([Buffer.from('0000ffff02000000', 'hex'), Buffer.alloc(60_000)]);
  hoarder.feed(frame);
  const others: FakePeer[] = [];
  while (!hoarder.isEnded && others.length < 20) {
    others.push(await FakePeer.root(gateway));
    await turn();
  }
  assert.equal(hoarder.isDestroyed, false);
  assert.match(hoarder.lastWrite.toString('latin1'), /needs the memory/);
  for (const peer of [hoarder, ...others]) peer.lost();
});

test('of evicted connections, few wait for their peers', async () => {
  const most = BUDGETS.process.connectionsEvicted;
  const { gateway } = fakeGateway();
  const strangers: FakePeer[] = [];
  const crowd = BUDGETS.process.connectionsUnauthorized + most + 10;
  for (let i = 0; i < crowd; i++) strangers.push(FakePeer.unauthorized(gateway));
  await turn();
  assert.equal(strangers.filter(({ isEnded }) => isEnded).length, most + 10);
  assert.equal(strangers.filter(({ isDestroyed }) => isDestroyed).length, 10);
  for (const peer of strangers) peer.lost();
});
