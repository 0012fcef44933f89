import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realRandom } from '../../../shared/app/real-random.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { AgeClock } from '../../../shared/domain/age.ts';
import { BrokerError, type BrokerErrorCode } from '../../../shared/domain/broker-error.ts';
import {
  QUEUE_DEFAULTS,
  type QueueDescription,
} from '../../../shared/domain/entities/descriptions.ts';
import { runWorker } from '../../../shared/push/worker.ts';
import type { WorkerDependencies } from '../../../shared/push/worker-dependencies.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { consumer, entity, locked } from './batches.ts';
import { EMPTY_QUEUE, FakeStates, OF } from './worker-fakes.ts';

const refused = (code: BrokerErrorCode) => () => Promise.reject(new BrokerError(code, 'No.'));

/** A worker whose target works on what `broker` receives. `told` = the faults that it notes or reports. */
function start(description: QueueDescription, broker: Partial<WorkerDependencies['broker']>) {
  const clock = new ManualClock();
  let found = { ...entity('orders', description), consumers: { [OF.consumer]: consumer() } };
  const told: unknown[] = [];
  const dependencies: WorkerDependencies = {
    states: new FakeStates(),
    clock,
    ages: new AgeClock(clock, () => 0),
    scheduler: realScheduler,
    random: realRandom,
    entities: { find: async () => found, read: async () => found, forget: () => {} },
    broker: {
      ...EMPTY_QUEUE,
      settle: refused('MessageLockLost'),
      renewSession: refused('SessionLockLost'),
      releaseSession: refused('SessionLockLost'),
      ...broker,
    },
    targets: {
      refusalOf: () => undefined,
      call: async () => {
        // The queue is reset, or another one of its name is created, while its target works.
        found = { ...found, id: 'another' };
        return { kind: 'answered', failures: [] };
      },
    },
    forgetHints: () => {},
    wakeOthers: async () => {},
    remind: async () => {},
    startAnother: async () => {},
    tellFault: (_, { error }) => told.push(error),
    reportFault: (fault) => told.push(fault),
    settings: {
      lingerMs: 0,
      waitMsMax: 0,
      pauseMsMax: 0,
      graceMs: 0,
      heldBytesMax: 1_000_000,
      claim: { form: 'batch', bytes: 1_000_000 },
    },
  };
  const time = { endsAt: Number.POSITIVE_INFINITY, signal: new AbortController().signal };
  return { run: () => runWorker(dependencies, OF, time), told };
}

test('a session whose lock an update or a reset has ended is no fault', async () => {
  let accepted = 0;
  const { run, told } = start(
    { ...QUEUE_DEFAULTS, requiresSession: true },
    {
      acceptSession: async () => {
        if (accepted++ > 0) return undefined;
        return { sessionId: 's', lockToken: 'l', lockedUntil: Number.POSITIVE_INFINITY };
      },
      receive: refused('SessionLockLost'),
    },
  );
  assert.equal(await run(), 'idle');
  assert.ok(accepted > 1);
  assert.deepEqual(told, []);
});

test('messages of a queue that is reset while its target works are no fault', async () => {
  const { run, told } = start(QUEUE_DEFAULTS, { receive: async () => [locked()] });
  assert.equal(await run(), 'stopped');
  assert.deepEqual(told, []);
});
