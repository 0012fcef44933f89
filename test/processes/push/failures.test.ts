import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PushedEvent } from '../../../lambdas/push/event/record.ts';
import { putConsumer } from '../../support/consumers.ts';
import { getJson } from '../../support/json-management.ts';
import { PUSH_FUNCTION, startPushed } from '../../support/push/push-stage.ts';
import { bodiesOf, TargetFunction } from '../../support/push/target-function.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

interface Stated {
  readonly state: { readonly isRunning: boolean; readonly [member: string]: unknown };
}

async function stateOf(broker: TestBroker) {
  return ((await getJson(broker, 'q/consumers/c')) as unknown as Stated).state;
}

test('a message whose target throws is delivered again later, and is a dead letter at last', async (t) => {
  const { broker, target, lambda, pass, settled } = await startPushed(t, {
    queue: { MaxDeliveryCount: '3' },
  });
  const dead = new TargetFunction(lambda, 'undertaker');
  const undertaker = 'arn:aws:lambda:eu-west-1:123456789012:function:undertaker';
  const path = 'q/$deadletterqueue/consumers/d';
  expectStatus(await putConsumer(broker, path, { target: undertaker }), 201);
  await settled();
  target.answer = () => {
    throw new TypeError('It does not work.');
  };
  expectStatus(await broker.send('q', 'bad'), 201);
  await lambda.until('the first call', () => target.calls.length === 1);
  for (const [calls, ms] of [
    [2, 1500],
    [3, 2500],
  ] as const) {
    // The settlement ends first.
    await pass(ms);
    await lambda.until(`call ${calls}`, () => target.calls.length >= calls);
  }
  await lambda.until('the dead letter is pushed', () => dead.calls.length === 1);
  await settled();
  const counts = target.calls.flatMap(({ event }) => event.Records.map(deliveryOf));
  assert.deepEqual(counts, ['1', '2', '3']);
  assert.deepEqual(bodiesOf(dead.calls), ['bad']);
  const [record] = dead.calls[0]?.event.Records ?? [];
  assert.match(JSON.stringify(record?.serviceBus), /MaxDeliveryCountExceeded/);
  assert.equal((await broker.runtimeProperties('q')).total, 0);
  assert.match(JSON.stringify(await stateOf(broker)), /TypeError: It does not work/);
});

function deliveryOf({ attributes }: PushedEvent['Records'][number]): string {
  return attributes.ApproximateReceiveCount;
}

test('of a batch, what an answer names is delivered again, dead-lettered or deferred; the rest is complete', async (t) => {
  const { broker, target, lambda, settled } = await startPushed(t);
  target.answer = ({ Records }) => ({
    batchItemFailures: Records.flatMap((record): readonly object[] => {
      const { body, messageId: itemIdentifier } = record;
      const isFirst = deliveryOf(record) === '1';
      if (body === 'later' && isFirst) return [{ itemIdentifier, delaySeconds: 0 }];
      if (body === 'dead') return [{ itemIdentifier, action: 'deadLetter', reason: 'Bad' }];
      return body === 'deferred' ? [{ itemIdentifier, action: 'defer' }] : [];
    }),
  });
  const bodies = ['good', 'later', 'dead', 'deferred'];
  expectStatus(
    await broker.sendBatch(
      'q',
      bodies.map((Body) => ({ Body })),
    ),
    201,
  );
  await lambda.until('the second call', () => target.calls.length === 2);
  await settled();
  assert.deepEqual(bodiesOf(target.calls), [...bodies, 'later']);
  const left = await broker.peek('q');
  assert.deepEqual(
    left.map(({ body }) => body),
    ['deferred'],
  );
  const dead = await broker.peek('q/$deadletterqueue');
  assert.deepEqual(
    dead.map(({ body }) => body),
    ['dead'],
  );
});

for (const [refusal, error] of [
  ['missing', 'ResourceNotFoundException'],
  ['forbidden', 'AccessDeniedException'],
] as const) {
  test(`while its target is ${refusal}, no delivery of a message counts, and the state says so`, async (t) => {
    const { broker, target, lambda, pass, settled } = await startPushed(t, {
      queue: { MaxDeliveryCount: '1' },
    });
    lambda.refuse('worker', refusal);
    const started = lambda.of(PUSH_FUNCTION).length;
    expectStatus(await broker.send('q', 'kept'), 201);
    const before = lambda.requests;
    await lambda.until('the worker runs', () => lambda.of(PUSH_FUNCTION).length > started);
    // Pauses of 5, 10 and 20 s; a worker does not wait for the next one.
    await pass(45_000);
    await settled();
    const tries = lambda.requests - before;
    assert.ok(tries >= 3 && tries <= 6, `${tries} requests`);
    const state = await stateOf(broker);
    assert.equal(state.isRunning, false, JSON.stringify(state));
    assert.match(JSON.stringify(state), new RegExp(error));
    assert.deepEqual(bodiesOf(target.calls), []);
    lambda.refuse('worker', undefined);
    await pass(60_000);
    await broker.sweep();
    await lambda.until('it is pushed', () => target.calls.length === 1);
    await settled();
    assert.deepEqual(target.calls[0]?.event.Records.map(deliveryOf), ['1']);
    assert.equal((await broker.runtimeProperties('q')).total, 0);
  });
}

test('while Lambda throttles the start of workers, the stream is not read on, and then they start', async (t) => {
  const { broker, target, lambda, settled } = await startPushed(t);
  lambda.refuse(PUSH_FUNCTION, 'throttled');
  expectStatus(await broker.send('q', 'waits'), 201);
  const begun = lambda.requests;
  // The client of the function tries three times each.
  await lambda.until(
    'two tries fail',
    () => lambda.of('stage-wake').filter((one) => one.error).length >= 2,
  );
  assert.ok(lambda.requests - begun >= 6);
  lambda.refuse(PUSH_FUNCTION, undefined);
  await lambda.until('it is pushed', () => target.calls.length === 1);
  await settled();
  assert.deepEqual(bodiesOf(target.calls), ['waits']);
});
