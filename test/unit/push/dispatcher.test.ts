import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dispatcher } from '../../../local/push/dispatcher.ts';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';
import type { ConsumerState } from '../../../shared/push/ports.ts';

/** When a dispatcher looks again at a consumer that it could not work for. */

type Dependencies = ConstructorParameters<typeof Dispatcher>[0];

const OF = { entityKey: 'orders', entityId: 'e', consumer: 'main/c' };

/** A dispatcher whose reads of the state do what `read` does. Timers run by hand. */
function dispatcherOf(read: () => Promise<ConsumerState | undefined>) {
  const timers = new Set<() => void>();
  let reads = 0;
  const dependencies = {
    clock: { now: () => 0 },
    states: {
      read: () => {
        reads++;
        return read();
      },
    },
    scheduler: {
      after: (_: number, work: () => void) => {
        timers.add(work);
        return { cancel: () => timers.delete(work) };
      },
    },
    reportFault: () => {},
  } as unknown as Dependencies;
  const dispatcher = new Dispatcher(dependencies);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { dispatcher, timers, settled, reads: () => reads };
}

test('a consumer whose state could not be read is looked at again', async () => {
  const { dispatcher, timers, settled, reads } = dispatcherOf(async () => {
    if (reads() === 1) throw serviceBusy('Busy.');
    return undefined;
  });
  dispatcher.wake(OF);
  await settled();
  for (const work of timers) work();
  await settled();
  assert.equal(reads(), 2);
});

test('a consumer that another process owns has one timer, however often it is woken', async () => {
  const lease = { owner: 'another', until: 1000, calls: 1, timeoutMs: 1 };
  const { dispatcher, timers, settled } = dispatcherOf(async () => ({
    lease,
    turn: 1,
    formerCalls: {},
    isWoken: true,
  }));
  for (let i = 0; i < 5; i++) {
    dispatcher.wake(OF);
    await settled();
  }
  assert.equal(timers.size, 1);
  await dispatcher.close();
  assert.equal(timers.size, 0, 'a timer keeps the process alive');
});
