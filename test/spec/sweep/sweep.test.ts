import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  instant,
  lockAndSettle,
  messageOf,
  sendTogether,
  settlementOf,
  startQueue,
} from '../queues/queue.ts';

const named = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`);

/** Sweeps with both processes at once, or does nothing. */
type Sweep = () => Promise<void>;

/** What a client sees while messages in many states come due, lapse and expire; sweeps around each step. */
async function stepsOf(broker: TestBroker, between: Sweep): Promise<unknown[]> {
  const seen: unknown[] = [];
  const step = async (work: () => Promise<unknown>) => {
    await between();
    seen.push(await work());
    await between();
  };
  const receive = (path: string) => async () => bodies(await broker.peekLockMany(path, 10));
  const at = (seconds: number) => ({ ScheduledEnqueueTimeUtc: instant({ seconds }) });
  await step(() => broker.schedule('q', [messageOf('s60', at(60)), messageOf('s90', at(90))]));
  await step(() => sendTogether(broker, ['a', messageOf('ttl', { TimeToLive: 45 }), 'b']));
  await step(receive('q'));
  broker.clock.advance({ seconds: 31 });
  await step(async () => (await broker.peek('q')).map(({ body, broker: b }) => [body, b.State]));
  await step(receive('q'));
  broker.clock.advance({ seconds: 29 });
  await step(receive('q'));
  broker.clock.advance({ seconds: 2 });
  await step(() => deadLetters(broker));
  await step(receive(DEAD));
  await step(async () => {
    const { active, deadLetter, scheduled } = await broker.runtimeProperties('q');
    return [active, deadLetter, scheduled];
  });
  broker.clock.advance({ seconds: 28 });
  await step(receive('q'));
  broker.clock.advance({ minutes: 5 });
  await step(() => deadLetters(broker));
  await step(receive('q'));
  await step(async () => bodies(await broker.receiveAndDeleteMany(DEAD, 10)));
  return seen;
}

async function startLapsing(t: TestContext): Promise<TestBroker> {
  return await startQueue(t, {
    LockDuration: 'PT30S',
    DeadLetteringOnMessageExpiration: 'true',
    MaxDeliveryCount: '2',
  });
}

test('a client sees the same without sweeps and with two concurrent sweeps before and after each step', async (t) => {
  const never = await stepsOf(await startLapsing(t), async () => {});
  const broker = await startLapsing(t);
  const other = await startBroker(t, { beside: broker });
  const always = await stepsOf(broker, async () => {
    await Promise.all([broker.sweep(), other.sweep()]);
  });
  assert.deepEqual(always, never);
});

test('two concurrent sweeps activate and dead-letter each message once', async (t) => {
  const broker = await startLapsing(t);
  const other = await startBroker(t, { beside: broker });
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
  for (let i = 0; i < 5; i++) {
    await broker.schedule(
      'q',
      named(100).map((body) => messageOf(`${i}${body}`, at)),
    );
  }
  await sendTogether(broker, named(100));
  for (let i = 0; i < 2; i++) {
    assert.equal((await broker.peekLockMany('q', 100)).length, 100);
    broker.clock.advance({ seconds: 30 });
  }
  const sweeps = [broker, other, broker, other];
  for (let i = 0; i < 3; i++) await Promise.all(sweeps.map((one) => one.sweep()));
  const { active, deadLetter, scheduled } = await broker.runtimeProperties('q');
  assert.deepEqual([active, deadLetter, scheduled], [500, 100, 0]);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 1000)), named(100));
  const received = bodies(await broker.receiveAndDeleteMany('q', 1000));
  assert.equal(new Set(received).size, 500);
  assert.equal(received.length, 500);
});

test('sweeps that run beside sends, receives and settlements neither lose nor duplicate messages', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '1000' });
  const other = await startBroker(t, { beside: broker });
  const done: string[] = [];
  const work = async (one: TestBroker, name: string) => {
    for (let i = 0; i < 15; i++) {
      await sendTogether(one, [`${name}${i}a`, `${name}${i}b`]);
      const held = await one.peekLockMany('q', 3);
      // The other worker may have locked every message.
      if (held.length === 0) continue;
      const outcomes = await one.settle(
        'q',
        held.map((message, k) => settlementOf(message, k === 2 ? 'abandon' : 'complete')),
      );
      done.push(...bodies(held.filter((_, k) => k < 2 && outcomes[k]?.settled === true)));
    }
  };
  let isOver = false;
  const sweepAll = async (one: TestBroker) => {
    while (!isOver) await one.sweep();
  };
  const workers = Promise.all([work(broker, 'x'), work(other, 'y')]).finally(() => {
    isOver = true;
  });
  await Promise.all([workers, sweepAll(broker), sweepAll(other)]);
  // Each process knows at once what it released itself, and what the other one did up to 1.5 s later.
  for (const one of [broker, other]) {
    done.push(...bodies(await one.receiveAndDeleteMany('q', 100)));
  }
  assert.equal(done.length, 60);
  assert.equal(new Set(done).size, 60);
});

/** A run writes its lease twice: when it takes it, and when it releases it and stores its progress. */
const LEASE_UNITS = 2;
/** Idle queues. */
const QUEUES = isMore() ? 100 : 30;
/** A run looks for due work and for tombstones, at half a unit each; it finds none. */
const READ_UNITS = 1;
/** What a walk may read to list the queues: a tenth of a unit each, which is less than a read of each. */
const LIST_UNITS = QUEUES / 10;
/**
 * What the daily visit of an idle queue reads: it looks for publications, scheduled messages and the note of the last
 * check for orphans, strongly consistent, and for payloads at half the price. What finds nothing costs as much.
 */
const DAILY_READ_UNITS = 3.5;
/** What the hourly visit of an idle queue that forwards reads. */
const FORWARD_READ_UNITS = 3;

/** Creates the queues; returns their names. */
async function createMany(broker: TestBroker, settings: Record<string, string> = {}) {
  const names = Array.from({ length: QUEUES }, (_, i) => `queue-${i}`);
  await Promise.all(
    names.map(async (name) => expectStatus(await broker.createQueue(name, settings), 201)),
  );
  return names;
}

test(`a sweep of an idle namespace of ${QUEUES} queues reads one unit and writes its lease only`, async (t) => {
  const broker = await startBroker(t);
  const names = await createMany(broker);
  // The first run of a day checks each queue for orphans, and writes a note before each check.
  const daily = await broker.units(() => broker.sweep());
  t.diagnostic(`once a day ${daily.read} read units and ${daily.write} write units`);
  const dailyUnits = DAILY_READ_UNITS * QUEUES + 2 * LIST_UNITS + READ_UNITS;
  assert.ok(daily.read <= dailyUnits, `${daily.read} read units`);
  // And one unit for the note that the list of topics is complete.
  assert.ok(daily.write <= LEASE_UNITS + names.length + 1, `${daily.write} write units`);
  for (let i = 0; i < (isMore() ? 10 : 5); i++) {
    broker.clock.advance({ minutes: 1 });
    const { read, write } = await broker.units(() => broker.sweep());
    assert.deepEqual([read, write], [READ_UNITS, LEASE_UNITS]);
  }
  broker.clock.advance({ hours: 1 });
  const hourly = await broker.units(() => broker.sweep());
  t.diagnostic(`once an hour ${hourly.read} read units`);
  assert.ok(hourly.read <= READ_UNITS + LIST_UNITS, `${hourly.read} read units`);
  assert.equal(hourly.write, LEASE_UNITS);
});

test(`an hour of sweeps writes at most one unit for each of ${QUEUES} idle queues that forward`, async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('end'), 201);
  const settings = { ForwardTo: 'end', ForwardDeadLetteredMessagesTo: 'end' };
  const names = await createMany(broker, settings);
  await broker.sweep();
  const hour = await broker.units(async () => {
    for (let i = 0; i < 60; i++) {
      broker.clock.advance({ minutes: 1 });
      await broker.sweep();
    }
  });
  t.diagnostic(`${hour.read} read units and ${hour.write} write units in an hour`);
  const hourUnits = 60 * READ_UNITS + LIST_UNITS + FORWARD_READ_UNITS * names.length;
  assert.ok(hour.read <= hourUnits, `${hour.read} read units`);
  assert.ok(hour.write <= 60 * LEASE_UNITS + names.length, `${hour.write} write units`);
});

test(`${QUEUES} queues with expired and scheduled messages cost the second sweep no more than idle ones`, async (t) => {
  const broker = await startBroker(t);
  const names = await createMany(broker, { DefaultMessageTimeToLive: 'PT1M' });
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 86_400 * 30 }) };
  await Promise.all(
    names.map(async (name) => {
      expectStatus(await broker.send(name, 'a'), 201);
      await broker.schedule(name, [messageOf('s', at)]);
    }),
  );
  broker.clock.advance({ minutes: 2 });
  await broker.sweep();
  broker.clock.advance({ minutes: 1 });
  const { read, write } = await broker.units(() => broker.sweep());
  assert.deepEqual([read, write], [READ_UNITS, LEASE_UNITS]);
});

test('the sweep activates due messages, so that the next receiver need not', async (t) => {
  const broker = await startQueue(t);
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 60 }) };
  await broker.schedule(
    'q',
    named(500).map((body) => messageOf(body, at)),
  );
  broker.clock.advance({ minutes: 1 });
  const { write } = await broker.units(() => broker.sweep());
  assert.ok(write > 0);
  const peek = await broker.units(() => broker.peek('q', { max: 1 }));
  assert.equal(peek.write, 0);
  assert.equal((await broker.receiveAndDeleteMany('q', 1000)).length, 500);
});

test('a sweep of an empty namespace succeeds', async (t) => {
  const broker = await startBroker(t);
  await broker.sweep();
  const { read, write } = await broker.units(() => broker.sweep());
  assert.deepEqual([read, write], [READ_UNITS, LEASE_UNITS]);
});

test('a deferred message can be received by its number after several sweeps', async (t) => {
  const broker = await startQueue(t, {}, 'a');
  await lockAndSettle(broker, 'defer');
  for (let i = 0; i < 3; i++) {
    broker.clock.advance({ days: 100 });
    await broker.sweep();
  }
  assert.equal((await broker.receiveDeferred('q', [1]))[0]?.body, 'a');
});
