import assert from 'node:assert/strict';
import { test } from 'node:test';
import { putConsumer } from '../../support/consumers.ts';
import { startPushed, startPushStage } from '../../support/push/push-stage.ts';
import { bodiesOf, TargetFunction } from '../../support/push/target-function.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createTopic, putSubscription, subscription } from '../../support/topic-entities.ts';

test('a message that is sent reaches its target within a second, and is completed', async (t) => {
  const { broker, lambda, target, settled } = await startPushed(t);
  const tookMs: number[] = [];
  for (const body of ['cold', 'one', 'two', 'three']) {
    const sentAt = performance.now();
    expectStatus(await broker.send('q', body), 201);
    await lambda.until(`${body} is pushed`, () => bodiesOf(target.calls).includes(body));
    tookMs.push((target.calls.at(-1)?.at ?? 0) - sentAt);
    await lambda.until('the worker ends', () => lambda.isIdle);
  }
  t.diagnostic(`sent to handler: ${tookMs.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  assert.ok(Math.min(...tookMs.slice(1)) < 1000);
  await settled();
  assert.deepEqual(bodiesOf(target.calls), ['cold', 'one', 'two', 'three']);
  assert.equal((await broker.runtimeProperties('q')).total, 0);
});

test('what waits when its consumer is created is pushed, up to `maxBatch` in a call', async (t) => {
  const { broker, lambda, settled } = await startPushStage(t);
  const target = new TargetFunction(lambda);
  expectStatus(await broker.createQueue('q'), 201);
  const messages = Array.from({ length: 25 }, (_, i) => ({ Body: String(i) }));
  expectStatus(await broker.sendBatch('q', messages), 201);
  expectStatus(await putConsumer(broker, 'q/consumers/c', { maxBatch: 10 }), 201);
  await lambda.until('all are pushed', () => bodiesOf(target.calls).length >= 25);
  await settled();
  assert.deepEqual(
    target.calls.map(({ event }) => event.Records.length),
    [10, 10, 5],
  );
  assert.equal((await broker.runtimeProperties('q')).total, 0);
});

test('a subscription and its dead-letter queue have consumers', async (t) => {
  const { broker, lambda, settled } = await startPushStage(t);
  const target = new TargetFunction(lambda);
  await createTopic(broker);
  const path = subscription('s');
  expectStatus(await putSubscription(broker, path), 201);
  expectStatus(await putConsumer(broker, `${path}/consumers/c`), 201);
  expectStatus(await putConsumer(broker, `${path}/$deadletterqueue/consumers/d`), 201);
  await settled();
  target.answer = ({ Records }) => ({
    batchItemFailures: Records.filter(({ eventSourceARN }) => !/dead/i.test(eventSourceARN)).map(
      ({ messageId }) => ({ itemIdentifier: messageId, action: 'deadLetter', reason: 'why' }),
    ),
  });
  expectStatus(await broker.send('t', 'published'), 201);
  await lambda.until('it is pushed twice', () => target.calls.length >= 2);
  await settled();
  assert.deepEqual(bodiesOf(target.calls), ['published', 'published']);
  const sources = target.calls.flatMap(({ event }) =>
    event.Records.map(({ eventSourceARN }) => eventSourceARN.split(':').at(-1)),
  );
  assert.deepEqual(sources, ['t/Subscriptions/s', 't/Subscriptions/s/$deadletterqueue']);
  assert.deepEqual(await broker.peek(path), []);
  assert.deepEqual(await broker.peek(`${path}/$deadletterqueue`), []);
});

test('the messages of each session are pushed in order, and those of sessions side by side', async (t) => {
  const { broker, target, lambda, settled } = await startPushed(t, {
    queue: { RequiresSession: 'true' },
    consumer: { maxBatch: 2 },
  });
  for (let number = 1; number <= 5; number++) {
    for (const SessionId of ['a', 'b', 'c']) {
      expectStatus(await broker.send('q', `${SessionId}${number}`, { SessionId }), 201);
    }
  }
  await lambda.until('all are pushed', () => bodiesOf(target.calls).length >= 15);
  await settled();
  const bodies = bodiesOf(target.calls);
  for (const session of ['a', 'b', 'c']) {
    const own = bodies.filter((body) => body.startsWith(session));
    assert.deepEqual(
      own,
      [1, 2, 3, 4, 5].map((number) => `${session}${number}`),
    );
  }
  assert.equal((await broker.runtimeProperties('q')).total, 0);
});

test('a scheduled message is pushed by the first sweep after it is due', async (t) => {
  const { broker, target, lambda, pass, settled } = await startPushed(t);
  const dueAt = new Date(broker.clock.now() + 60_000);
  expectStatus(
    await broker.send('q', 'later', { ScheduledEnqueueTimeUtc: dueAt.toUTCString() }),
    201,
  );
  await pass(50_000);
  await broker.sweep();
  await settled();
  assert.deepEqual(bodiesOf(target.calls), []);
  // Due work is noted in steps of ten seconds.
  await pass(20_000);
  await broker.sweep();
  await lambda.until('it is pushed', () => target.calls.length > 0);
  await settled();
  assert.deepEqual(bodiesOf(target.calls), ['later']);
});
