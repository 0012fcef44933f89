import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { LoadRandom, seedOfRun } from '../support/load-random.ts';
import { bodyOf, RaceLog } from '../support/race-log.ts';
import { RaceReceiver } from '../support/race-receiver.ts';
import { startBroker } from '../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../support/test-broker.ts';

/**
 * Many receivers on one queue, half of them through a second process, so that the database decides races
 * and not the process alone. What a receiver knows comes from its own answers only. The seed repeats all
 * choices; the order in which requests interleave depends on the machine.
 */

const SEED = seedOfRun();
const MESSAGES = Number(process.env['DYNABUS_RACE_MESSAGES'] || (isMore() ? 1000 : 300));
const RECEIVERS = 32;
/** How often 64 receives race for the same 10 messages. */
const STORMS = isMore() ? 10 : 3;
const LOCK_SECONDS = 30;
const SEND_MAX = 100;
/** Close to the end of a lock, where defects are likely. */
const STEPS_SECONDS = [1, 1, 1, 29, LOCK_SECONDS, 31] as const;
const COMPLAINTS_SHOWN = 20;

const LOCK_SETTINGS = { LockDuration: `PT${LOCK_SECONDS}S`, MaxDeliveryCount: '1000' };

test(`${RECEIVERS} receivers complete each of ${MESSAGES} messages once, and no two hold the same message (seed ${SEED})`, async (t) => {
  const broker = await startBroker(t);
  const beside = await startBroker(t, { beside: broker });
  expectStatus(await broker.createQueue('race', LOCK_SETTINGS), 201);
  const messages = Array.from({ length: MESSAGES }, (_, i) => `m${i}`);
  const log = new RaceLog(broker.clock, LOCK_SECONDS * 1000);
  const half = messages.length >> 1;
  await sendAll(broker, 'race', messages.slice(0, half), new LoadRandom(`${SEED}:first`));

  let idle = 0;
  const receive = async (number: number) => {
    const random = new LoadRandom(`${SEED}:${number}`);
    const shared = { queue: 'race', log, random };
    const receiver = new RaceReceiver({ broker: number % 2 ? broker : beside, ...shared });
    while (log.finals < MESSAGES && idle < 50 * RECEIVERS) {
      idle = (await receiver.turn()) ? 0 : idle + 1;
      // When receivers get no message, the locks of abandoned deliveries must expire first.
      const moves = random.chance(idle > RECEIVERS ? 0.3 : 0.01);
      if (moves) broker.clock.advance({ seconds: random.pick(STEPS_SECONDS) });
    }
  };
  await Promise.all([
    sendAll(beside, 'race', messages.slice(half), new LoadRandom(`${SEED}:second`)),
    ...Array.from({ length: RECEIVERS }, (_, number) => receive(number)),
  ]);

  log.review(messages);
  t.diagnostic(JSON.stringify(log.outcomes));
  assert.deepEqual(log.violations.slice(0, COMPLAINTS_SHOWN), []);
  assert.equal(log.finals, MESSAGES);
  broker.clock.advance({ seconds: LOCK_SECONDS });
  assert.deepEqual(await broker.peekLockMany('race', 10), []);
  assert.deepEqual(await beside.peekLockMany('race', 10), []);
  assert.ok(log.outcomes.lost > 0, 'no lock was ever lost, so there were no races');
  assert.ok(log.outcomes.delivered > MESSAGES, 'no message was ever delivered twice');
});

test(`a lock is valid to its last millisecond and no longer, in every process (seed ${SEED})`, async (t) => {
  const broker = await startBroker(t);
  const beside = await startBroker(t, { beside: broker });
  expectStatus(await broker.createQueue('edge', LOCK_SETTINGS), 201);
  const messages = Array.from({ length: 240 }, (_, i) => `m${i}`);
  await sendAll(broker, 'edge', messages, new LoadRandom(`${SEED}:edge`));
  const receiveConcurrently = async () => {
    const answers = await Promise.all(
      Array.from({ length: RECEIVERS }, (_, i) =>
        (i % 2 ? broker : beside).peekLockMany('edge', [1, 5, 24, 100][i % 4] ?? 1),
      ),
    );
    // A receive that loses every race gets no message, so one more receive takes what is left.
    return [...answers.flat(), ...(await broker.peekLockMany('edge', 1000))];
  };

  const first = await receiveConcurrently();
  assert.deepEqual(idsOf(first), [...messages].sort());
  assert.deepEqual(new Set(first.map(({ broker: { LockedUntilUtc } }) => LockedUntilUtc)).size, 1);

  broker.clock.advance({ ms: LOCK_SECONDS * 1000 - 1 });
  assert.deepEqual(await receiveConcurrently(), []);
  // A new process has no scan hints, so it reads every message.
  const newcomer = await startBroker(t, { beside: broker });
  assert.deepEqual(await newcomer.peekLockMany('edge', 1000), []);
  const inTime = first.filter((_, i) => i % 3 === 0);
  const settled = await beside.settle('edge', inTime.map(completing));
  assert.deepEqual(
    settled.filter((one) => !one.settled),
    [],
  );

  broker.clock.advance({ ms: 1 });
  const late = first.filter((_, i) => i % 3 === 1);
  const refused = await broker.settle('edge', late.map(completing));
  assert.deepEqual(
    refused.filter((one) => one.settled),
    [],
  );
  const second = await receiveConcurrently();
  assert.deepEqual(idsOf(second), idsOf(first.filter((one) => !inTime.includes(one))));
  assert.deepEqual(new Set(second.map((one) => one.broker.DeliveryCount)), new Set([2]));
});

test('an expired lock and the live lock of one message in one call: only the live one settles', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('both', LOCK_SETTINGS), 201);
  for (const spentFirst of [true, false]) {
    expectStatus(await broker.sendBatch('both', [toBatchMessage('m0')]), 201);
    const [spent] = await broker.peekLockMany('both', 1);
    broker.clock.advance({ seconds: LOCK_SECONDS });
    const [live] = await broker.peekLockMany('both', 1);
    assert.ok(spent && live);

    const both = (spentFirst ? [spent, live] : [live, spent]).map(completing);
    const outcomes = await broker.settle('both', both);

    const settled = outcomes.map((one) => (one.settled ? one.lockToken : undefined));
    assert.ok(settled.includes(live.broker.LockToken), `spent first: ${spentFirst}`);
    assert.ok(!settled.includes(spent.broker.LockToken), `spent first: ${spentFirst}`);
  }
});

for (const [moment, advance] of [
  ['that are new', 0],
  ['whose locks have just expired', LOCK_SECONDS],
] as const) {
  test(`of 64 concurrent receives, exactly 10 get one of 10 messages ${moment}`, async (t) => {
    const broker = await startBroker(t);
    const beside = await startBroker(t, { beside: broker });
    for (let round = 0; round < STORMS; round++) {
      const queue = `storm-${round}`;
      expectStatus(await broker.createQueue(queue, LOCK_SETTINGS), 201);
      const messages = Array.from({ length: 10 }, (_, i) => `m${i}`);
      expectStatus(await broker.sendBatch(queue, messages.map(toBatchMessage)), 201);
      if (advance > 0) {
        assert.equal((await beside.peekLockMany(queue, 10)).length, 10);
        broker.clock.advance({ seconds: advance });
      }

      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, i) => (i % 2 ? broker : beside).peekLock(queue)),
      );

      const got = answers.filter((one) => one !== undefined);
      assert.deepEqual(idsOf(got), messages);
      const counts = new Set(got.map((one) => one.broker.DeliveryCount));
      assert.deepEqual(counts, new Set([advance > 0 ? 2 : 1]));
    }
  });
}

/** Sends in batches of several sizes, which makes blocks of several sizes. */
async function sendAll(
  broker: TestBroker,
  queue: string,
  messages: readonly string[],
  random: LoadRandom,
): Promise<void> {
  for (let start = 0; start < messages.length; ) {
    const count = random.pick([1, 3, SEND_MAX / 4, SEND_MAX]);
    const batch = messages.slice(start, start + count).map(toBatchMessage);
    expectStatus(await broker.sendBatch(queue, batch), 201);
    start += count;
  }
}

const toBatchMessage = (message: string): BatchMessage => ({
  Body: bodyOf(message),
  BrokerProperties: { MessageId: message },
});

const completing = ({ broker }: { readonly broker: { readonly LockToken: string } }) =>
  ({ lockToken: broker.LockToken, outcome: 'complete' }) as const;

const idsOf = (received: readonly { readonly broker: { readonly MessageId: string } }[]) =>
  received.map(({ broker }) => broker.MessageId).sort();
