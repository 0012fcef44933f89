import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realRandom } from '../../../shared/app/real-random.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { AgeClock } from '../../../shared/domain/age.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { runWorker } from '../../../shared/push/worker.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { consumer, entity } from './batches.ts';
import { FakeStates, OF } from './worker-fakes.ts';

test('a session whose lock an update or a reset has ended is no fault of the server', async () => {
  const clock = new ManualClock();
  const queue = entity('orders', { ...QUEUE_DEFAULTS, requiresSession: true });
  const found = { ...queue, consumers: { [OF.consumer]: consumer() } };
  const faults: unknown[] = [];
  const lost = () => Promise.reject(new BrokerError('SessionLockLost', 'The lock has expired.'));
  let accepted = 0;
  const end = await runWorker(
    {
      states: new FakeStates(),
      clock,
      ages: new AgeClock(clock, () => 0),
      scheduler: realScheduler,
      random: realRandom,
      entities: { find: async () => found, read: async () => found, forget: () => {} },
      broker: {
        acceptSession: async () => {
          if (accepted++ > 0) return undefined;
          return { sessionId: 's', lockToken: 'l', lockedUntil: clock.now() + 1 };
        },
        receive: lost,
        settle: lost,
        renewLocks: lost,
        renewSession: lost,
        releaseSession: lost,
      },
      targets: { refusalOf: () => undefined, call: () => assert.fail('Nothing was received.') },
      forgetHints: () => {},
      wakeOthers: async () => {},
      remind: async () => {},
      startAnother: async () => {},
      tellFault: () => {},
      reportFault: (fault) => faults.push(fault),
      settings: {
        lingerMs: 0,
        waitMsMax: 0,
        pauseMsMax: 0,
        graceMs: 0,
        heldBytesMax: 1_000_000,
        claim: { form: 'batch', bytes: 1_000_000 },
      },
    },
    OF,
    { endsAt: Number.POSITIVE_INFINITY, signal: new AbortController().signal },
  );
  assert.ok(accepted > 1);
  assert.deepEqual([end, faults], ['idle', []]);
});
