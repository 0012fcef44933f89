import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSections } from '../../../amqp/messages/sections.ts';
import {
  type AmqpValue,
  bool,
  fieldsOf,
  int,
  list,
  mapOf,
  numberOf,
  uuid,
} from '../../../amqp/wire/value.ts';
import type { Broker } from '../../../shared/broker/broker.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { MB } from '../../../shared/domain/units.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { fakeGateway, turnsUntil } from '../../support/fake-peer.ts';
import { asking, request } from '../../support/management-peer.ts';
import { type RawSession, sourceOf, targetOf } from '../../support/raw-session.ts';
import { singleTurns } from '../../support/single-turns.ts';

const { requestValueBytes } = BUDGETS.weights;
const { workSlots, workShareOfProcess, workBytesMin, turnRequestBytes } = BUDGETS.connection;
const VALUES = 40_000;
const LIMIT = 40 * MB;

const LOCK_TOKENS = { 'lock-tokens': list([uuid(Buffer.alloc(16, 1))]) };
/** A request with unused values, each of one byte. */
const renewWith = (values: number) =>
  request(
    'renew-lock',
    mapOf({ ...LOCK_TOKENS, x: list(Array<AmqpValue>(values).fill(bool(true))) }),
  );

/** A small request. */
const SMALL = ['get-message-sessions', mapOf({ top: int(1) })] as const;

/** A broker that renews no lock before `finish` is called. */
function slowRenewals() {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const state = { begun: 0 };
  const renewLocks: Broker['renewLocks'] = async (_path, [lockToken = '']) => {
    state.begun++;
    await finished;
    return [{ lockToken, lockedUntil: FAKE_NOW }];
  };
  return { renewLocks, state, finish: () => finish() };
}

test('row 5: the values of a request count until it is answered, also after its peer is gone', async (t) => {
  const made = fakeGateway();
  const { renewLocks, state, finish } = slowRenewals();
  made.broker.renewLocks = renewLocks;
  const { peer, ask } = await asking(t, made);
  ask(renewWith(VALUES));
  await turnsUntil(() => state.begun === 1);
  const { memory } = made;
  assert.ok(memory.held >= VALUES * requestValueBytes, `${memory.held} are held`);
  peer.lost();
  await peer.settled();
  assert.ok(memory.held >= VALUES * requestValueBytes, `${memory.held} are held`);
  finish();
  await turnsUntil(() => memory.held === 0);
  assert.equal(memory.held, 0);
});

/** The statuses of the next replies; `answers` has credit. */
async function statuses({ raw }: RawSession, count: number): Promise<(number | undefined)[]> {
  const heard: (number | undefined)[] = [];
  while (heard.length < count) {
    const { payload = new Uint8Array() } = await raw.hear('transfer');
    const fields = fieldsOf(readSections(payload).applicationProperties);
    heard.push(numberOf(fields.get('statusCode')));
  }
  return heard;
}

test('row 5: requests that exceed memory are refused, and small ones are answered', async (t) => {
  const memory = new MemoryBudget(LIMIT);
  const { renewLocks, state, finish } = slowRenewals();
  const { connect } = await startFakeGateway(t, {
    memory,
    calls: { renewLocks, listSessions: async () => ['s'] },
  });
  const payload = renewWith(VALUES);
  const fit = Math.floor((LIMIT * workShareOfProcess) / (VALUES * requestValueBytes));
  assert.ok(fit >= 1 && fit < workSlots);
  const session = connect();
  const link = await session.sender(targetOf('q/$management'));
  const ends = [sourceOf('q/$management'), targetOf('answers')] as const;
  const { handle } = await session.attach('receiver', ends, { senderSettleMode: 1 });
  session.credit(handle, 100);
  for (let i = 0; i < workSlots; i++) await session.send(link, payload, { settled: true });
  const refused = await statuses(session, workSlots - fit);
  assert.deepEqual(refused, Array(workSlots - fit).fill(503));
  assert.equal((await session.ask('q', ...SMALL)).status, 200);
  assert.equal(state.begun, fit);
  // The memory for work under way is used up.
  const others = memory.open(LIMIT, () => {});
  others.pin();
  assert.ok(others.hold(LIMIT - memory.held));
  assert.equal((await connect().ask('q', ...SMALL)).status, 200);
  others.close();
  finish();
  assert.deepEqual(await statuses(session, fit), Array(fit).fill(200));
});

test('row 5: requests of many peers stay within the memory of the process, and end no connection', async (t) => {
  const memory = new MemoryBudget(LIMIT);
  const made = fakeGateway({ memory });
  const { renewLocks, state, finish } = slowRenewals();
  made.broker.renewLocks = renewLocks;
  const peers = [];
  for (let i = 0; i < 12; i++) peers.push(await asking(t, made));
  const payload = renewWith(VALUES);
  // Each holds more than the next one, until the next one requests more.
  for (let i = 0; i < workSlots; i++) {
    for (const { ask } of peers) ask(payload);
    await turnsUntil(() => false, 30);
  }
  const values = state.begun * VALUES * requestValueBytes;
  assert.ok(values > LIMIT / 2 && values <= LIMIT, `${state.begun} are under way`);
  assert.ok(memory.held < LIMIT + peers.length * workBytesMin, `${memory.held} are held`);
  assert.deepEqual([...new Set(peers.map(({ peer }) => peer.isEnded))], [false]);
  finish();
});

test('row 5: of large requests of many peers, one is decoded in a turn', async (t) => {
  const { workTurns, end } = singleTurns();
  const made = fakeGateway({ workTurns });
  const { renewLocks, state, finish } = slowRenewals();
  made.broker.renewLocks = renewLocks;
  const peers = [];
  for (let i = 0; i < 10; i++) peers.push(await asking(t, made));
  const payload = renewWith(turnRequestBytes);
  for (const { ask } of peers) ask(payload);
  let most = 0;
  for (let turns = 0, last = 0; turns < 50 && state.begun < peers.length; turns++) {
    await turnsUntil(() => false, 10);
    most = Math.max(most, state.begun - last);
    last = state.begun;
    end();
  }
  assert.deepEqual([most, state.begun], [1, peers.length]);
  finish();
});

test('row 5: a small request does not wait for a turn', async (t) => {
  const { workTurns } = singleTurns();
  // Its turn never ends.
  await workTurns.next();
  const made = fakeGateway({ workTurns });
  const { renewLocks, state, finish } = slowRenewals();
  made.broker.renewLocks = renewLocks;
  const { ask } = await asking(t, made);
  ask(request('renew-lock', mapOf(LOCK_TOKENS)));
  await turnsUntil(() => state.begun === 1, 200);
  assert.equal(state.begun, 1);
  finish();
});
