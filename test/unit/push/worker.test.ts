import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realRandom } from '../../../shared/app/real-random.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import type { Settlement } from '../../../shared/broker/broker.ts';
import { AgeClock } from '../../../shared/domain/age.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import type { Consumer } from '../../../shared/domain/consumers/consumer.ts';
import type { LockedMessage } from '../../../shared/domain/messages/message.ts';
import type { Reply } from '../../../shared/push/ports.ts';
import { runWorker } from '../../../shared/push/worker.ts';
import type { WorkerDependencies } from '../../../shared/push/worker-dependencies.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { consumer, entity, numbered } from './batches.ts';
import { EMPTY_QUEUE, FakeStates, OF } from './worker-fakes.ts';

/** One run of a worker, with a queue of looks that a test fills. */
function start(
  looks: readonly (readonly LockedMessage[])[],
  changes: Partial<Consumer> = {},
  waitMsMax = 0,
) {
  const states = new FakeStates();
  const clock = new ManualClock();
  const rest = [...looks];
  const settled: Settlement[] = [];
  const replies: Reply[] = [];
  const reminders: number[] = [];
  const receiving: Error[] = [];
  const told: string[] = [];
  const stop = new AbortController();
  let looked = 0;
  const found = { ...entity('orders'), consumers: { [OF.consumer]: consumer(changes) } };
  const dependencies: WorkerDependencies = {
    states,
    clock,
    ages: new AgeClock(clock, () => 0),
    scheduler: realScheduler,
    random: realRandom,
    reportFault: (error) => assert.fail(String(error)),
    tellFault: (_, { error }) => {
      told.push(error);
    },
    entities: { find: async () => found, read: async () => found, forget: () => {} },
    forgetHints: () => {},
    wakeOthers: async () => {},
    remind: async (_, at) => {
      reminders.push(at);
    },
    startAnother: async () => {},
    targets: {
      refusalOf: () => undefined,
      call: async () => replies.shift() ?? { kind: 'answered', failures: [] },
    },
    settings: {
      lingerMs: 0,
      waitMsMax,
      pauseMsMax: 300_000,
      graceMs: 0,
      heldBytesMax: 1_000_000,
      claim: { form: 'batch', bytes: 1_000_000 },
    },
    broker: {
      ...EMPTY_QUEUE,
      receive: async (_, { signal }) => {
        if (signal?.aborted) return [];
        looked++;
        const error = receiving.shift();
        if (error !== undefined) throw error;
        return rest.shift() ?? [];
      },
      settle: async (_, settlements) => {
        settled.push(...settlements);
        return settlements.map(({ lockToken }) => ({ lockToken }));
      },
    },
  };
  const run = () =>
    runWorker(dependencies, OF, {
      endsAt: Number.POSITIVE_INFINITY,
      signal: stop.signal,
    });
  return {
    run,
    dependencies,
    states,
    clock,
    settled,
    replies,
    reminders,
    receiving,
    told,
    stop,
    looks: () => looked,
  };
}

const { messages: THREE } = numbered(1, 2, 3);

test('a worker pushes until a look finds nothing, and gives the lease back', async () => {
  const { run, states, settled, looks } = start([THREE]);
  assert.equal(await run(), 'idle');
  assert.deepEqual(
    settled.map(({ action }) => action),
    THREE.map(() => ({ kind: 'complete' })),
  );
  assert.equal(states.state.lease, undefined);
  assert.ok(looks() >= 2);
});

test('a worker that is woken while it ends looks again', async () => {
  const { run, states, settled, looks } = start([[], THREE, []]);
  const { release } = states;
  let isFirst = true;
  states.release = async (of, lease, released) => {
    if (isFirst) await states.markWoken(of, lease.owner);
    isFirst = false;
    return await release.call(states, of, lease, released);
  };
  assert.equal(await run(), 'idle');
  assert.equal(settled.length, 3);
  assert.ok(looks() >= 3);
});

test('a target that cannot be called pauses the consumer, and no delivery counts', async () => {
  const { run, states, clock, settled, replies, reminders } = start([THREE]);
  replies.push({ kind: 'unavailable', why: 'missing', error: 'It is gone.' });
  const { release } = states;
  let pause: unknown;
  states.release = async (of, lease, released) => {
    ({ pause } = released);
    return await release.call(states, of, lease, released);
  };
  assert.equal(await run(), 'paused');
  const until = clock.now() + 5000;
  assert.deepEqual(pause, { until, tries: 1 });
  // A little later, since the clock of whoever looks then may be behind.
  assert.deepEqual(reminders, [until + 1000]);
  assert.deepEqual(
    settled.map(({ action }) => action),
    THREE.map(() => ({ kind: 'abandon', isUncounted: true })),
  );
});

test('a call that fails delays each message, longer with each delivery, and the worker is reminded', async () => {
  const failing = THREE.map((message, i) => ({ ...message, failedDeliveries: i }));
  const { run, clock, settled, replies, reminders } = start([failing]);
  replies.push({ kind: 'failed', error: 'No.' });
  assert.equal(await run(), 'idle');
  assert.deepEqual(
    settled.map(({ action }) => action),
    [1000, 2000, 4000].map((delayMs) => ({ kind: 'abandon', delayMs })),
  );
  const last = reminders.slice(-3).map((at) => at - clock.now());
  assert.deepEqual(last, [2000, 3000, 5000]);
});

test('messages that have failed often are pushed alone', async () => {
  const often = THREE.map((message, i) => ({ ...message, failedDeliveries: i === 1 ? 3 : 0 }));
  const { run, settled, replies } = start([often]);
  replies.push({ kind: 'failed', error: 'No.' });
  assert.equal(await run(), 'idle');
  const kinds = settled.map(({ action }) => action.kind);
  assert.deepEqual(kinds.toSorted(), ['abandon', 'complete', 'complete']);
});

test('nobody works for a consumer that is disabled, or that another worker owns', async () => {
  assert.equal(await start([THREE], { enabled: false }).run(), 'stopped');
  const { run, states, clock, settled } = start([THREE]);
  const lease = { owner: 'other', until: clock.now() + 1, calls: 1, timeoutMs: 1 };
  states.state = { lease, turn: 1, formerCalls: {}, isWoken: false };
  assert.equal(await run(), 'held');
  assert.deepEqual([states.state.isWoken, settled], [true, []]);
});

test('an entity that is disabled for receivers ends the worker without a pause or a reminder', async () => {
  const { run, receiving, reminders } = start([THREE]);
  receiving.push(new BrokerError('MessagingEntityDisabled', 'It is disabled.'));
  assert.equal(await run(), 'stopped');
  assert.deepEqual(reminders, []);
});

test('an entity that is deleted while its target works ends the worker, and is no fault', async () => {
  const gone = new BrokerError('MessagingEntityNotFound', 'It is deleted.');
  const { run, dependencies, receiving, reminders, told } = start([THREE]);
  const { receive } = dependencies.broker;
  let looked = 0;
  const broker = {
    ...dependencies.broker,
    receive: async (...args: Parameters<typeof receive>) => {
      if (looked++ > 0) receiving.push(gone);
      return await receive(...args);
    },
    settle: () => Promise.reject(gone),
  };
  Object.assign(dependencies, { broker });
  assert.equal(await run(), 'stopped');
  assert.deepEqual([reminders, told], [[], []]);
});

test('a pause and a fault are stored when they begin, and the fault is told once', async () => {
  const { run, states, clock, replies, told, stop } = start([THREE, THREE], {}, 60_000);
  replies.push(
    { kind: 'failed', error: 'No.' },
    { kind: 'unavailable', why: 'missing', error: 'It is gone.' },
  );
  const isPaused = new Promise<void>((resolve) => {
    const { renew } = states;
    states.renew = async (of, lease, trouble) => {
      if (trouble.pause !== undefined) resolve();
      return await renew.call(states, of, lease, trouble);
    };
  });
  const ended = run();
  await isPaused;
  const { lease, pause, fault } = states.state;
  assert.ok(lease !== undefined);
  assert.deepEqual(pause, { until: clock.now() + 5000, tries: 1 });
  assert.deepEqual(fault, { at: clock.now(), error: 'It is gone.' });
  assert.deepEqual(told, ['No.']);
  stop.abort();
  assert.equal(await ended, 'closed');
});

test('a worker whose target is throttled for long ends, and does not wait for it', async () => {
  const { run, states, clock, replies } = start([THREE], {}, 30_000);
  const pause = { until: clock.now() - 1, tries: 6 };
  states.state = { ...states.state, pause };
  replies.push({ kind: 'unavailable', why: 'throttled', error: 'Too many.' });
  assert.equal(await run(), 'paused');
});

test('the pause of a worker that crashed keeps no other one from starting', async () => {
  const { run, states, clock, settled, reminders } = start([THREE]);
  const lease = { owner: 'crashed', until: clock.now() - 1, calls: 1, timeoutMs: 1 };
  const until = clock.now() + 60_000;
  states.state = { ...states.state, lease, pause: { until, tries: 3 } };
  assert.equal(await run(), 'paused');
  assert.deepEqual(settled, []);
  assert.ok(reminders.includes(until + 1000), 'Nobody is reminded of the end of the pause.');
  assert.deepEqual(states.state.pause, { until, tries: 3 });
});

test('what a target says writes nothing into a terminal but its text', async () => {
  const { run, replies, told } = start([THREE]);
  const error = '\u001b[2J\u001b]0;title\u0007first\r\nsecond\u009b';
  replies.push({ kind: 'failed', error });
  assert.equal(await run(), 'idle');
  assert.deepEqual(told, [' [2J ]0;title first second ']);
});
