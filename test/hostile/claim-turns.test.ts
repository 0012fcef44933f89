import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realScheduler } from '../../lambdas/http/real-scheduler.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { startPauses } from '../support/pause-client.ts';
import { startBroker } from '../support/start-broker.ts';

const QUEUES = ['a', 'b', 'c', 'd', 'e', 'f'];

test('row 12: messages that were found together are locked in turns', async (t) => {
  let monotonicMs = 0;
  // Whatever is done takes all the time of a turn.
  const now = () => {
    monotonicMs += BUDGETS.turnMs;
    return monotonicMs;
  };
  const { client, requests, pauseNextAnswer } = startPauses();
  t.after(() => client.destroy());
  const bus = await startBroker(t, { client, scheduler: { ...realScheduler, now } });
  for (const path of QUEUES) {
    await bus.createQueue(path);
    await bus.send(path, 'x');
  }
  const pauses = QUEUES.map(() => pauseNextAnswer(({ command }) => command === 'QueryCommand'));
  const receives = QUEUES.map((path) => bus.peekLock(path));
  await Promise.all(pauses.map(({ reached }) => reached));
  const before = requests.length;
  for (const { goOn } of pauses) goOn();
  const perTurn: number[] = [];
  for (let seen = before; seen < before + QUEUES.length; ) {
    await new Promise((resolve) => setImmediate(resolve));
    perTurn.push(requests.length - seen);
    seen = requests.length;
  }
  assert.ok(Math.max(...perTurn) === 1, perTurn.join(' '));
  for (const received of await Promise.all(receives)) assert.ok(received);
});
