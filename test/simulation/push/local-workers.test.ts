import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dispatcher } from '../../../local/push/dispatcher.ts';
import { LOCAL_WORKERS } from '../../../local/push/local-push.ts';
import { realRandom } from '../../../shared/app/real-random.ts';
import { AgeClock } from '../../../shared/domain/age.ts';
import { MINUTE_MS } from '../../../shared/domain/units.ts';
import { PUSH } from '../../../shared/push/push-limits.ts';
import type { WorkerDependencies } from '../../../shared/push/worker-dependencies.ts';
import { consumer, entity, numbered } from '../../unit/push/batches.ts';
import { EMPTY_QUEUE, FakeStates, OF } from '../../unit/push/worker-fakes.ts';
import { Machine } from '../machines/machine.ts';
import { Timeline } from '../machines/timeline.ts';

/** A local server in virtual time, with queues that always have a message. */
function start(isDead: (entityKey: string) => boolean) {
  const timeline = new Timeline();
  const machine = new Machine(timeline, { aheadMs: 0, standsStill: false });
  const called = new Set<string>();
  const states = new Map<string, FakeStates>();
  const stateOf = ({ entityKey }: { readonly entityKey: string }) => {
    const state = states.get(entityKey) ?? new FakeStates();
    states.set(entityKey, state);
    return state;
  };
  const found = (key: string) => ({
    ...entity(key),
    id: key,
    consumers: { [OF.consumer]: consumer() },
  });
  const { messages } = numbered(1);
  const dependencies: WorkerDependencies = {
    states: {
      read: (of) => stateOf(of).read(),
      take: (of, ...rest) => stateOf(of).take(of, ...rest),
      renew: (of, ...rest) => stateOf(of).renew(of, ...rest),
      release: (of, ...rest) => stateOf(of).release(of, ...rest),
      endFormerCalls: (of) => stateOf(of).endFormerCalls(),
      markWoken: (of, owner) => stateOf(of).markWoken(of, owner),
    },
    clock: machine.clock,
    ages: new AgeClock(machine.clock, () => machine.now()),
    scheduler: machine,
    random: realRandom,
    entities: {
      find: async (key) => found(key),
      read: async (key) => found(key),
      forget: () => {},
    },
    broker: { ...EMPTY_QUEUE, receive: async () => messages },
    targets: {
      refusalOf: () => undefined,
      call: async ({ entity: { key } }) => {
        called.add(key);
        await timeline.pause(10);
        return isDead(key)
          ? { kind: 'unavailable', why: 'missing', error: 'Nobody listens.' }
          : { kind: 'answered', failures: [] };
      },
    },
    forgetHints: () => {},
    wakeOthers: async () => {},
    remind: async ({ key }, at) => timeline.at(at, () => wake(key)),
    startAnother: async () => {},
    tellFault: () => {},
    reportFault: (error) => assert.fail(String(error)),
    settings: LOCAL_WORKERS,
  };
  const dispatcher = new Dispatcher(dependencies);
  const wake = (entityKey: string) => dispatcher.wake({ ...OF, entityKey, entityId: entityKey });
  return { timeline, called, wake };
}

test('however many targets are gone, the others are called within a minute', async () => {
  const { timeline, called, wake } = start((key) => key !== 'living');
  for (let i = 0; i < 2 * PUSH.workersMax; i++) wake(`dead${i}`);
  wake('living');
  await timeline.runUntil(
    () => called.has('living') || timeline.now > Date.UTC(2026, 0, 1) + MINUTE_MS,
  );
  assert.ok(called.has('living'));
});
