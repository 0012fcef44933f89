import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import type { Broker, ReceivedMessage } from '../../../shared/broker/broker.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import { MB } from '../../../shared/domain/units.ts';
import { GatewayFixture, turns } from '../../support/amqp-peer.ts';
import { FakePeer, fakeGateway, lockedMessage, turn, turnsUntil } from '../../support/fake-peer.ts';
import { sourceOf, targetOf } from '../../support/raw-session.ts';

/** A message for a peer is delivered, is returned to its queue, or is not claimed. */

const BYTES = 250_000;
const PER_RECEIVE = 12;
/** How long a shutdown waits for frames in transit, each of two times. */
const ARRIVED_MS = 500;
const { backlogBytes, largeClaim } = BUDGETS.connection;

/** A broker's answer to an aborted receive: nothing. */
async function nothingUntil(signal?: AbortSignal): Promise<readonly []> {
  if (signal?.aborted === false) await once(signal, 'abort');
  return [];
}

/** A receiver `A` with credit for messages, of which it has taken a part of the first. */
async function slowReceiver(t: TestContext, count: number) {
  const fixture = new GatewayFixture(t);
  const abandoned: string[] = [];
  const messages = Array.from({ length: count }, (_, i) => lockedMessage(i + 1, BYTES));
  const broker: Partial<Broker> = {
    receive: async (_path, { signal }) =>
      messages.length > 0 ? messages.splice(0) : await nothingUntil(signal),
    settle: async (_path, settlements) => {
      for (const { lockToken, action } of settlements) {
        if (action.kind === 'abandon') abandoned.push(lockToken);
      }
      return [];
    },
  };
  Object.assign(fixture.broker, broker);
  const peer = await fixture.peer('root');
  peer.attach(0, 'receiver', 'q', { name: 'A' });
  await turns();
  peer.onWrite = () => {
    if (peer.said('transfer').length > 0) peer.backlog = 2 * backlogBytes;
  };
  peer.credit(0);
  await turnsUntil(() => peer.said('transfer').length > 0);
  return { peer, abandoned, fixture };
}

test('row 5: no part of a message is sent after its link has ended, and unsent messages are returned', async (t) => {
  const count = 8;
  const { peer, abandoned, fixture } = await slowReceiver(t, count);
  const before = peer.said('transfer');
  assert.equal(before.at(-1)?.more, true, 'it stands still within a message');
  peer.say({ kind: 'detach', handle: 0, closed: true });
  await turns();
  peer.attach(0, 'receiver', 'q', { name: 'B' });
  await turns();
  peer.onWrite = () => {};
  peer.takeAll();
  await turns(50);
  assert.deepEqual(peer.said('transfer').slice(before.length), []);
  const whole = before.filter(({ more }) => !more).length;
  assert.equal(abandoned.length, count - whole);
  assert.deepEqual(fixture.faults, []);
});

test('row 5: messages that waited for the peer are returned when its connection is gone', async (t) => {
  const count = 8;
  const { peer, abandoned } = await slowReceiver(t, count);
  const whole = peer.said('transfer').filter(({ more }) => !more).length;
  peer.lost();
  await turns(50);
  assert.equal(abandoned.length, count - whole);
});

test('row 12: very many messages that waited for the peer are returned a part in each turn', async () => {
  const count = 5000;
  const { gateway, broker, faults } = fakeGateway();
  let given = 0;
  broker.receive = async (_path, { maxMessages, signal }) => {
    if (given === count) return await nothingUntil(signal);
    const messages = Array.from({ length: maxMessages }, (_, i) => lockedMessage(given + i, 1));
    given += maxMessages;
    return messages;
  };
  const back = new Set<string>();
  const calls: number[] = [];
  broker.settle = async (_path, settlements) => {
    calls.push(settlements.length);
    for (const { lockToken } of settlements) back.add(lockToken);
    return [];
  };
  const peer = await FakePeer.root(gateway);
  const windows = { nextIncomingId: 0, incomingWindow: 0, nextOutgoingId: 0, outgoingWindow: 100 };
  peer.attach('receiver', 'q', 0);
  await peer.settled();
  peer.say({ kind: 'flow', ...windows, handle: 0, deliveryCount: 0, linkCredit: count });
  await turnsUntil(() => given === count);
  await peer.settled();
  peer.lost();
  const perTurn: number[] = [];
  for (let before = 0; back.size < count && perTurn.length < count; before = back.size) {
    await turn();
    perTurn.push(back.size - before);
  }
  assert.equal(back.size, count);
  const most = Math.max(...calls);
  assert.ok(most <= count / 10, `${most} in one call`);
  assert.ok(Math.max(...perTurn) <= BUDGETS.turnReturns * most, `${perTurn}`);
  assert.deepEqual(faults, []);
});

/** A gateway whose receives each find a message of that size; `claims` = those with memory for it. */
function largeMessages(bytes: number, memory?: MemoryBudget) {
  const made = fakeGateway(memory === undefined ? {} : { memory });
  const claims = { count: 0, asked: 0 };
  made.broker.receive = async (
    _path,
    { beforeAttempt, payloads },
  ): Promise<readonly ReceivedMessage[]> => {
    await beforeAttempt?.();
    await turn();
    claims.asked++;
    payloads?.hold(bytes, 1n);
    claims.count++;
    await turn();
    return [lockedMessage(claims.count, bytes)];
  };
  made.broker.settle = async () => [];
  return { ...made, claims };
}

test('row 5: receivers whose peer does not read claim one large message', async () => {
  const { gateway, claims, faults } = largeMessages(10 * MB);
  const peer = await FakePeer.root(gateway);
  peer.isTaking = false;
  const links = 50;
  await peer.receive('q', links, 1);
  await turnsUntil(() => claims.asked >= links / 2);
  await turnsUntil(() => claims.count > 2, 100);
  assert.ok(claims.count <= 2, `${claims.count} messages were claimed`);
  assert.equal(peer.isDestroyed, false, 'the others stay where they are, and the links wait');
  assert.deepEqual(faults, []);
  peer.lost();
});

test('row 5: a large message is claimed only if the process has memory for it', async () => {
  const memory = new MemoryBudget(100 * MB);
  const bytes = 40 * MB;
  const { gateway, claims } = largeMessages(bytes, memory);
  const others = memory.open(100 * MB, () => {});
  others.pin();
  others.hold(50 * MB);
  const peer = await FakePeer.root(gateway);
  await peer.receive('q', 1, 1);
  await turnsUntil(() => claims.asked > 0);
  await turnsUntil(() => false, 20);
  assert.equal(claims.count, 0);
  others.close();
  let most = 0;
  const began = performance.now();
  while (peer.written < bytes && performance.now() - began < 20_000) {
    most = Math.max(most, memory.held);
    await turn();
  }
  assert.ok(peer.written > bytes, `${peer.written} bytes were written`);
  assert.ok(most >= memory.limit * largeClaim.shareOfProcess, `${most} bytes were held`);
  assert.equal(memory.held < MB, true, `${memory.held} bytes are held`);
  peer.lost();
});

test('row 5: more credit during a claim does not make it larger', async () => {
  const { gateway, broker } = fakeGateway();
  const asked: number[] = [];
  broker.receive = async (_path, { beforeAttempt, maxMessages, signal }) => {
    await beforeAttempt?.();
    asked.push(maxMessages);
    return asked.length === 1 ? [lockedMessage(1, backlogBytes + MB)] : nothingUntil(signal);
  };
  broker.settle = async () => [];
  const peer = await FakePeer.root(gateway);
  peer.isTaking = false;
  await peer.receive('q', 2, 0);
  peer.credit(0, 1);
  await turnsUntil(() => peer.written > backlogBytes);
  peer.credit(1, 1);
  await peer.settled();
  peer.credit(1, 1000);
  await peer.settled();
  assert.deepEqual(asked, [1], 'there is no room for a claim');
  peer.isTaking = true;
  peer.take();
  const began = performance.now();
  while (asked.length < 2 && performance.now() - began < 20_000) await turn();
  assert.deepEqual(asked, [1, 1]);
  peer.lost();
});

test('row 5: messages claimed before a shutdown are sent before the connection ends', async () => {
  const count = 60;
  let left = count;
  let isStopping = false;
  const peers: FakePeer[] = [];
  let arrivals = 0;
  // From the shutdown on, pauses are short. After the one for frames in transit, the peer reads in each.
  const scheduler: Scheduler = {
    ...realScheduler,
    after: (ms, work) => {
      if (isStopping && ms === ARRIVED_MS) arrivals++;
      else if (arrivals === 2) for (const peer of peers) setImmediate(() => peer.take());
      return realScheduler.after(isStopping ? 1 : ms, work);
    },
  };
  const { gateway, broker } = fakeGateway({ scheduler });
  broker.receive = async (_path, { beforeAttempt, signal }) => {
    await beforeAttempt?.();
    if (left === 0) return await nothingUntil(signal);
    const count = Math.min(left, PER_RECEIVE);
    return Array.from({ length: count }, () => {
      const { lockToken: _, lockedUntil: __, ...message } = lockedMessage(left--, BYTES);
      return message;
    });
  };
  const peer = await FakePeer.root(gateway);
  peers.push(peer);
  peer.isTaking = false;
  const [source, target] = [sourceOf('q'), targetOf('here')];
  const receiveAndDelete = { senderSettleMode: 1, source, target } as const;
  peer.say({ kind: 'attach', name: 'a', handle: 0, role: 'receiver', ...receiveAndDelete });
  await peer.settled();
  peer.credit(0, count);
  await turnsUntil(() => peer.written > backlogBytes);
  await turnsUntil(() => false, 50);
  const claimed = (count - left) * BYTES;
  assert.ok(peer.written < claimed);
  isStopping = true;
  await gateway.close();
  assert.ok(peer.written > claimed, `${peer.written} of ${claimed} bytes were written`);
});
