import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Outgoing, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import {
  DEAD,
  lock,
  lockAndSettle,
  numbers,
  sendTogether,
  settlementOf,
  settleOne,
} from './queue.ts';

/** Another process changes what this one has read a moment ago, or remembers of a scan. */

const MODES = ['peekLock', 'receiveAndDelete'] as const;
const RED = { properties: { color: 'red' } };

/** Two processes of one namespace with the queue `q`, in which each of these messages has a block of its own. */
async function startTwo(
  t: TestContext,
  sent: readonly string[],
  settings: Record<string, string> = {},
): Promise<readonly [TestBroker, TestBroker]> {
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await here.createQueue('q', settings), 201);
  for (const body of sent) expectStatus(await here.send('q', body), 201);
  return [here, there];
}

function seen({ body, properties, broker: { DeliveryCount } }: Received) {
  return { body, color: properties['color'], deliveries: DeliveryCount };
}

for (const mode of MODES) {
  test(`#12 ${mode}: a message that another process abandoned with changed properties has them, though this one remembers it without`, async (t) => {
    const [here, there] = await startTwo(t, ['a', 'b', 'c']);
    assert.equal((await lock(here)).body, 'a');
    assert.equal((await lockAndSettle(there, 'abandon', RED)).body, 'b');
    const again = await here[mode]('q');
    assert.ok(again);
    assert.deepEqual(seen(again), { body: 'b', color: '"red"', deliveries: 2 });
  });
}

for (const mode of MODES) {
  test(`#14 ${mode}: a receive with settings from before an update leaves what was locked after it`, async (t) => {
    const here = await startBroker(t);
    const pauses = startPauses();
    t.after(() => pauses.client.destroy());
    const there = await startBroker(t, { beside: here, client: pauses.client });
    expectStatus(await here.createQueue('q'), 201);
    expectStatus(await here.send('q', 'a'), 201);
    const reading = pauses.pauseNext(({ command }) => command === 'QueryCommand');
    const receiving = there[mode]('q');
    await reading.reached;
    const update = { MaxDeliveryCount: '9' };
    expectStatus(await here.putEntity('q', 'QueueDescription', update, { 'If-Match': '*' }), 200);
    const locked = await lock(here);
    reading.goOn();
    assert.equal(await receiving, undefined);
    await settleOne(here, locked, 'complete');
  });
}

/** Dead-letters the next messages, one by one and without a reason, so that each has a block of its own. */
async function deadLetterNext(broker: TestBroker, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await lockAndSettle(broker, 'deadLetter');
}

test('#12 a dead letter that another process put back with changed properties has them, though it looks as before', async (t) => {
  const [here, there] = await startTwo(t, ['a', 'b', 'c']);
  await deadLetterNext(here, 3);
  assert.equal((await lock(here, DEAD)).body, 'a');
  assert.equal((await lockAndSettle(there, 'abandon', RED, DEAD)).body, 'b');
  const again = seen(await lock(here, DEAD));
  assert.deepEqual([again.body, again.color], ['b', '"red"']);
});

test('each receive of a dead-letter queue reads it', async (t) => {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  expectStatus(await broker.createQueue('q'), 201);
  const count = 3;
  for (let i = 0; i < count; i++) expectStatus(await broker.send('q', `${i}`), 201);
  await deadLetterNext(broker, count);
  const before = pauses.requests.length;
  for (let i = 0; i < count; i++) await lock(broker, DEAD);
  const reads = pauses.requests.slice(before).filter(({ command }) => command === 'QueryCommand');
  assert.ok(reads.length >= count, `${reads.length} reads`);
});

/**
 * A process `slow`, whose next write pauses, beside another one, with the message `a` in `q` or in its dead-letter
 * queue.
 */
async function startSlow(t: TestContext, path: string) {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const here = await startBroker(t);
  const slow = await startBroker(t, { beside: here, client: pauses.client });
  expectStatus(await here.createQueue('q'), 201);
  expectStatus(await here.send('q', 'a'), 201);
  if (path === DEAD) await deadLetterNext(here, 1);
  const isWrite = ({ command }: Outgoing) => /^(?:Update|Delete|TransactWrite)Item/.test(command);
  return { here, slow, pause: pauses.pauseNext(isWrite) };
}

for (const mode of MODES) {
  for (const path of ['q', DEAD]) {
    test(`#12 ${mode} from ${path}: a message that is put back with changed properties between read and write of a receive has them`, async (t) => {
      const { here, slow, pause } = await startSlow(t, path);
      const receiving = slow[mode](path);
      await pause.reached;
      await lockAndSettle(here, 'abandon', RED, path);
      pause.goOn();
      const again = await receiving;
      assert.ok(again);
      assert.equal(seen(again).color, '"red"');
    });
  }

  test(`#12 #70 ${mode}: a deferred dead letter that is put back with changed properties between read and write of a receive is not delivered as it was`, async (t) => {
    const { here, slow, pause } = await startSlow(t, DEAD);
    const { broker } = await lockAndSettle(here, 'defer', {}, DEAD);
    const numbersOf = [broker.SequenceNumber];
    const receiving = slow.receiveDeferredRaw(DEAD, numbersOf, mode);
    await pause.reached;
    const [message] = await here.receiveDeferred(DEAD, numbersOf);
    assert.ok(message);
    await settleOne(here, message, 'abandon', RED, DEAD);
    pause.goOn();
    assert.equal((await receiving).status, 404);
    const [again] = await slow.receiveDeferred(DEAD, numbersOf, mode);
    assert.equal(again?.properties['color'], 'red');
  });
}

test('#12 #C2 a dead letter that is put back with changed properties during a resubmission is not resubmitted as it was', async (t) => {
  const { here, slow, pause } = await startSlow(t, DEAD);
  const resubmitting = slow.resubmit(DEAD);
  await pause.reached;
  await lockAndSettle(here, 'abandon', RED, DEAD);
  pause.goOn();
  assert.equal(await resubmitting, 0);
  assert.equal(await slow.resubmit(DEAD), 1);
  assert.equal(seen(await lock(slow)).color, '"red"');
});

test('#12 #C2 the same, if the other dead letter of its block is completed meanwhile', async (t) => {
  const { here, slow, pause } = await startSlow(t, 'q');
  await lockAndSettle(here, 'complete');
  await sendTogether(here, ['b', 'c']);
  const both = await here.peekLockMany('q', 2);
  await here.settle(
    'q',
    both.map((message) => settlementOf(message, 'deadLetter')),
  );
  const resubmitting = slow.resubmit(DEAD, 1);
  await pause.reached;
  const [b, c] = await here.peekLockMany(DEAD, 2);
  assert.ok(b && c);
  await settleOne(here, c, 'complete', {}, DEAD);
  await settleOne(here, b, 'abandon', RED, DEAD);
  pause.goOn();
  assert.equal(await resubmitting, 0);
  assert.equal(await slow.resubmit(DEAD), 1);
  assert.equal(seen(await lock(slow)).color, '"red"');
});

test('#12 L12 a deferred dead letter that is put back with changed properties during a reactivation keeps them', async (t) => {
  const { here, slow, pause } = await startSlow(t, DEAD);
  const { broker } = await lockAndSettle(here, 'defer', {}, DEAD);
  const numbersOf = [broker.SequenceNumber];
  const reactivating = slow.reactivate(DEAD, numbersOf);
  await pause.reached;
  const [message] = await here.receiveDeferred(DEAD, numbersOf);
  assert.ok(message);
  await settleOne(here, message, 'abandon', RED, DEAD);
  pause.goOn();
  assert.deepEqual(await reactivating, [true]);
  assert.equal(seen(await lock(slow, DEAD)).color, '"red"');
});

test('#12 L12 a reactivated message whose properties another process has changed has them, though it looks as before', async (t) => {
  // With one delivery for each message, a reactivation sets the count back.
  const [here, there] = await startTwo(t, ['a', 'b', 'c'], { MaxDeliveryCount: '1' });
  for (let i = 0; i < 2; i++) await lockAndSettle(there, 'defer');
  const [a, b] = [1, 2];
  assert.deepEqual(await there.reactivate('q', [a, b]), [true, true]);
  assert.deepEqual(numbers([await lock(here)]), [a]);
  assert.deepEqual(numbers([await lockAndSettle(there, 'defer', RED)]), [b]);
  assert.deepEqual(await there.reactivate('q', [b]), [true]);
  const again = seen(await lock(here));
  assert.deepEqual(again, { body: 'b', color: '"red"', deliveries: 1 });
});

test('#48 a message that expires after a scan is dead-lettered before the next answer, though another process has locked it since', async (t) => {
  const here = await startBroker(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await here.createQueue('q', { DeadLetteringOnMessageExpiration: 'true' }), 201);
  for (const body of ['a', 'b', 'c', 'd']) {
    const timeToLive = body === 'b' ? { TimeToLive: 1 } : {};
    expectStatus(await here.send('q', body, timeToLive), 201);
  }
  here.clock.advance({ ms: 900 });
  assert.equal((await lock(here)).body, 'a');
  assert.equal((await lockAndSettle(there, 'abandon')).body, 'b');
  here.clock.advance({ ms: 100 });
  assert.equal((await lock(here)).body, 'c');
  const { active, deadLetter } = await here.runtimeProperties('q');
  assert.deepEqual({ active, deadLetter }, { active: 3, deadLetter: 1 });
});
