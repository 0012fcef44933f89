import assert from 'node:assert/strict';
import { test } from 'node:test';
import { functionProcesses, loadedFunction } from '../../support/push/bundled-functions.ts';
import { PUSH_FUNCTION, startPushed } from '../../support/push/push-stage.ts';
import { bodiesOf } from '../../support/push/target-function.ts';
import { expectStatus } from '../../support/test-broker.ts';

test('of two workers that start at the same time, one pushes and the other one ends', async (t) => {
  const { broker, target, lambda, settled } = await startPushed(t, { consumer: { maxBatch: 1 } });
  const [{ event } = { event: undefined }] = lambda.of(PUSH_FUNCTION);
  const bodies = Array.from({ length: 20 }, (_, i) => String(i));
  const messages = bodies.map((Body) => ({ Body }));
  let running = 0;
  let most = 0;
  target.answer = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 20));
    running--;
  };
  expectStatus(await broker.sendBatch('q', messages), 201);
  const starts = [1, 2, 3].map(() => lambda.invoke(PUSH_FUNCTION, event));
  await Promise.all(starts);
  await lambda.until('all are pushed', () => target.calls.length >= 20);
  await settled();
  assert.deepEqual(bodiesOf(target.calls).toSorted(), bodies.toSorted());
  assert.ok(most <= 10, `${most} calls at the same time`);
  assert.equal((await broker.runtimeProperties('q')).total, 0);
});

test('what a killed worker has left, the next try of Lambda pushes, and counts the delivery', async (t) => {
  const { broker, target, lambda, environment, time, pass, settled } = await startPushed(t);
  const processes = functionProcesses('push', environment('push'));
  lambda.register(PUSH_FUNCTION, processes.handler);
  t.after(processes.kill);
  let isFirst = true;
  target.answer = async () => {
    if (!isFirst) return;
    isFirst = false;
    processes.kill();
  };
  expectStatus(await broker.sendBatch('q', [{ Body: 'a' }, { Body: 'b' }]), 201);
  await lambda.until('the worker is killed', () =>
    lambda.of(PUSH_FUNCTION).some(({ error }) => error !== undefined),
  );
  // Longer than the locks of its messages, and than its lease.
  await pass(61_000);
  lambda.register(PUSH_FUNCTION, loadedFunction('push', environment('push'), time));
  lambda.retryFailed();
  await lambda.until('both are pushed again', () => bodiesOf(target.calls).length >= 4);
  await settled();
  assert.deepEqual(bodiesOf(target.calls), ['a', 'b', 'a', 'b']);
  assert.equal((await broker.runtimeProperties('q')).total, 0);
});

test('records that come twice, late and in another order push each message once', async (t) => {
  const { broker, target, lambda, mapping, settled } = await startPushed(t, {
    consumer: { maxBatch: 1 },
  });
  mapping.change = async (records) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return [...records, ...records].reverse();
  };
  const bodies = ['1', '2', '3', '4', '5'];
  for (const body of bodies) expectStatus(await broker.send('q', body), 201);
  await lambda.until('all are pushed', () => target.calls.length >= 5);
  await settled();
  assert.deepEqual(bodiesOf(target.calls).toSorted(), bodies);
  assert.equal((await broker.runtimeProperties('q')).total, 0);
});

test('what the stream loses, a later sweep finds', async (t) => {
  const { broker, target, lambda, mapping, pass, settled } = await startPushed(t);
  mapping.change = async () => [];
  expectStatus(await broker.send('q', 'lost'), 201);
  await settled();
  assert.deepEqual(bodiesOf(target.calls), []);
  // Each sweep does a part; within a day all entities had their turn.
  for (let hour = 0; hour < 24 && target.calls.length === 0; hour++) {
    await pass(1000);
    broker.clock.advance({ hours: 1 });
    await broker.sweep();
    await settled();
  }
  await lambda.until('it is pushed', () => target.calls.length === 1);
  await settled();
  assert.deepEqual(bodiesOf(target.calls), ['lost']);
});
