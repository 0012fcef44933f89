import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_FUNCTIONS, allowedTargets } from '../../../shared/app/allowed-targets.ts';
import { readPushTargets } from '../../../shared/app/settings.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';

const WORKER = 'arn:aws:lambda:eu-west-1:123456789012:function:worker';
/** The rule does not look at the entity. */
const ENTITY = {} as Entity;

const answerTo = (target: string, { allowsTarget } = allowedTargets([WORKER])) =>
  allowsTarget(target, ENTITY, undefined);

test('a function of the stage is allowed, with any version or alias', () => {
  for (const qualifier of ['', ':7', ':live', ':$LATEST']) {
    assert.equal(answerTo(`${WORKER}${qualifier}`), undefined, qualifier);
  }
});

test('every other function is refused with what to do', () => {
  for (const other of [
    `${WORKER}-2`,
    WORKER.replace('123456789012', '123456789013'),
    WORKER.replace('eu-west-1', 'eu-west-2'),
    WORKER.replace('arn:aws:', 'arn:aws-cn:'),
    WORKER.replace(':worker', ':Worker'),
  ]) {
    const sentence = `The target '${other}' is not one of this namespace: add it to push.targets of the stage and deploy that, or declare the consumer in a stack by queue.addConsumer(fn).`;
    assert.equal(answerTo(`${other}:live`), sentence);
    assert.equal(answerTo(other, allowedTargets([])), sentence);
    assert.equal(answerTo(other, ALL_FUNCTIONS), undefined);
  }
});

test('an address is refused: a deployment cannot reach it', () => {
  for (const rule of [allowedTargets([WORKER]), ALL_FUNCTIONS]) {
    assert.equal(
      answerTo('http://127.0.0.1:3000/orders', rule),
      'Only local servers have targets with an address: name the ARN of a Lambda function.',
    );
  }
});

test('the environment names the targets with spaces between, and a stage without push has no rule', () => {
  assert.deepEqual(readPushTargets({ PUSH_FUNCTION: 'push', PUSH_TARGETS: `${WORKER} b` }), [
    WORKER,
    'b',
  ]);
  assert.deepEqual(readPushTargets({ PUSH_FUNCTION: 'push' }), []);
  assert.equal(readPushTargets({ PUSH_TARGETS: WORKER }), undefined);
});
