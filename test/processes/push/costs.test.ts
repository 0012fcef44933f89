import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { putConsumer } from '../../support/consumers.ts';
import {
  PUSH_FUNCTION,
  type PushStage,
  startPushed,
  startPushStage,
  WAKE_FUNCTION,
} from '../../support/push/push-stage.ts';
import { bodiesOf, TargetFunction } from '../../support/push/target-function.ts';
import { expectStatus } from '../../support/test-broker.ts';

const MINUTE_MS = 60_000;
const PER_QUEUE = 10;
/** The cheapest one counts: on a busy machine, what a process remembers of entities grows old in between. */
const ROUNDS = 3;

/** What was asked of the database since the last call. */
function takeUnits({ relays }: PushStage) {
  const [broker, wake, push] = [relays.broker.take(), relays.wake.take(), relays.push.take()];
  const sum = (of: 'read' | 'write' | 'requests') => broker[of] + wake[of] + push[of];
  return { broker, wake, push, requests: sum('requests'), read: sum('read'), write: sum('write') };
}

/** How much each part asked. */
function requestsOf({ broker, wake, push }: ReturnType<typeof takeUnits>) {
  return { broker: broker.requests, wake: wake.requests, push: push.requests };
}

/** The most units of a message, from its send to its end, by the messages of a call. */
const UNITS_MAX = [
  { batch: 1, read: 10.5, write: 6 },
  { batch: 10, read: 1.5, write: 0.8 },
  { batch: 100, read: 0.2, write: 0.3 },
] as const;

for (const { batch, read, write } of UNITS_MAX) {
  test(`a message takes at most ${read} read and ${write} write units if ${batch} are sent and pushed at once`, async (t) => {
    const stage = await startPushed(t, { consumer: { maxBatch: batch } });
    const { broker, target, lambda, settled } = stage;
    const messages = Array.from({ length: batch }, (_, i) => ({ Body: String(i) }));
    const push = async () => {
      const before = bodiesOf(target.calls).length;
      expectStatus(await broker.sendBatch('q', messages), 201);
      await lambda.until('all are pushed', () => bodiesOf(target.calls).length >= before + batch);
      await settled();
    };
    const round = async () => {
      takeUnits(stage);
      const calls = target.calls.length;
      await push();
      assert.equal(target.calls.length - calls, 1);
      return takeUnits(stage);
    };
    await push();
    let units = await round();
    for (let rounds = 1; rounds < ROUNDS; rounds++) {
      const next = await round();
      if (next.read < units.read) units = next;
    }
    for (const of of ['broker', 'wake', 'push'] as const) {
      const one = units[of];
      t.diagnostic(`${of}: ${one.read} read, ${one.write} write units, ${one.requests} requests`);
    }
    assert.ok(units.read / batch <= read, `${units.read / batch} read units`);
    assert.ok(units.write / batch <= write, `${units.write / batch} write units`);
  });
}

test('consumers of queues without messages cost nothing, however many there are', async (t) => {
  const [queues, busy] = isMore() ? [100, 10] : [20, 2];
  const stage = await startPushStage(t);
  const { broker, lambda, mapping, pass, settled } = stage;
  const target = new TargetFunction(lambda);
  // The workers that new consumers start would take most of the time of this test.
  mapping.change = async () => [];
  for (let queue = 0; queue < queues; queue++) {
    expectStatus(await broker.createQueue(`q${queue}`), 201);
    for (let consumer = 0; consumer < PER_QUEUE; consumer++) {
      expectStatus(await putConsumer(broker, `q${queue}/consumers/c${consumer}`), 201);
    }
  }
  await settled();
  takeUnits(stage);
  mapping.change = async (records) => records;
  const invoked = lambda.invocations.length;
  await pass(10 * MINUTE_MS);
  await settled();
  assert.deepEqual(requestsOf(takeUnits(stage)), { broker: 0, wake: 0, push: 0 });
  assert.equal(lambda.invocations.length, invoked);

  for (let queue = 0; queue < busy; queue++) {
    expectStatus(await broker.send(`q${queue}`, `m${queue}`), 201);
  }
  await lambda.until('all are pushed', () => target.calls.length >= busy);
  await settled();
  const woken = new Set(lambda.of(PUSH_FUNCTION).map(({ event }) => JSON.stringify(event)));
  assert.equal(woken.size, busy * PER_QUEUE);
  assert.equal(bodiesOf(target.calls).length, busy);
  const { read, write, requests } = takeUnits(stage);
  const wakes = lambda.of(WAKE_FUNCTION).length;
  t.diagnostic(
    `${queues * PER_QUEUE} consumers, ${busy} messages to ${busy} queues: ${woken.size} consumers woken by ${wakes} calls; ${read} read and ${write} write units, ${requests} requests`,
  );
  await pass(10 * MINUTE_MS);
  await settled();
  assert.deepEqual(requestsOf(takeUnits(stage)), { broker: 0, wake: 0, push: 0 });
});
