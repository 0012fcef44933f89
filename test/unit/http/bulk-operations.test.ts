import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { startApp } from '../../support/http-fixture.ts';

function startWith(path: string, ...texts: string[]) {
  const started = startApp();
  for (const [i, text] of texts.entries()) {
    started.broker.put(path, {
      message: { messageId: text, body: new TextEncoder().encode(text), properties: {} },
      enqueuedAt: FAKE_NOW + i,
    });
  }
  return started;
}

test('$delete without sequence numbers deletes old messages and returns their number', async () => {
  const { call, broker } = startWith('q', 'a', 'b', 'c');
  const body = '{"maxMessages":4000,"enqueuedBefore":"2026-01-15T12:00:00.002Z"}';
  const response = await call('POST', '/q/messages/$delete', { body });
  assert.deepEqual([response.status, await response.text()], [200, '{"deleted":2}']);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.deepEqual(broker.calls, [['deleteMessages', { maxMessages: 4000, before: FAKE_NOW + 2 }]]);
});

test('$delete accepts a date in the form of BrokerProperties', async () => {
  const { call, broker } = startWith('q', 'a');
  const body = '{"maxMessages":1,"enqueuedBefore":"Thu, 15 Jan 2026 12:00:00 GMT"}';
  assert.equal(await (await call('POST', '/q/messages/$delete', { body })).text(), '{"deleted":0}');
  assert.deepEqual(broker.calls, [['deleteMessages', { maxMessages: 1, before: FAKE_NOW }]]);
});

for (const [body, maxMessages] of [
  [undefined, 1000],
  ['{}', 1000],
  ['{"maxMessages":1000}', 1000],
  ['{"maxMessages":2}', 2],
] as const) {
  test(`$resubmit with ${body ?? 'no body'} moves up to ${maxMessages}`, async () => {
    const { call, broker } = startWith('q/$deadletterqueue', 'a', 'b', 'c');
    const response = await call('POST', '/q/$DeadLetterQueue/messages/$resubmit', {
      ...(body === undefined ? {} : { body }),
    });
    const resubmitted = Math.min(maxMessages, 3);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { resubmitted });
    assert.deepEqual(broker.calls, [['resubmit', maxMessages]]);
    assert.equal(broker.waiting('q').length, resubmitted);
  });
}

test('$resubmit of a main queue is 400', async () => {
  const { call } = startApp();
  const response = await call('POST', '/q/messages/$resubmit');
  assert.equal(response.status, 400);
  assert.equal(response.headers.get('x-dynabus-error'), 'InvalidOperation');
});

for (const body of [undefined, '{}']) {
  test(`$purge with ${body ?? 'no body'} empties a queue`, async () => {
    const { call, broker } = startWith('q', 'a', 'b');
    broker.put('q/$deadletterqueue', {
      message: { messageId: 'd', body: new Uint8Array(), properties: {} },
    });
    const response = await call('POST', '/q/messages/$purge', body === undefined ? {} : { body });
    assert.deepEqual([response.status, await response.text()], [200, '{}']);
    assert.deepEqual(broker.calls, [['purge']]);
    assert.deepEqual(broker.waiting('q'), []);
    assert.equal(broker.waiting('q/$deadletterqueue').length, 1);
  });
}

test('a purge during another purge is a retryable 409', async () => {
  const { call, broker } = startApp();
  broker.failures.purge = new BrokerError('ConflictInProgress', 'Try again.');
  const response = await call('POST', '/q/messages/$purge');
  assert.equal(response.status, 409);
  assert.equal(response.headers.get('x-dynabus-retryable'), 'true');
});

const BEFORE = '"enqueuedBefore":"2026-01-15T12:00:00Z"';

const BAD_BODIES: readonly [string, string, RegExp][] = [
  ['$delete', '{}', /maxMessages must be a number/],
  ['$delete', '{"maxMessages":1}', /enqueuedBefore must be a string/],
  ['$delete', `{${BEFORE}}`, /maxMessages must be a number/],
  ['$delete', `{"maxMessages":0,${BEFORE}}`, /maxMessages is too small or short; the least is 1/],
  ['$delete', `{"maxMessages":-1,${BEFORE}}`, /maxMessages is too small/],
  ['$delete', `{"maxMessages":4001,${BEFORE}}`, /maxMessages is .*; the limit is 4000/],
  ['$delete', `{"maxMessages":1e300,${BEFORE}}`, /maxMessages is too large/],
  ['$delete', `{"maxMessages":1.5,${BEFORE}}`, /maxMessages must be a whole number/],
  ['$delete', `{"maxMessages":"1",${BEFORE}}`, /maxMessages must be a number/],
  ['$delete', `{"maxMessages":null,${BEFORE}}`, /maxMessages must be a number/],
  ['$delete', '{"maxMessages":1,"enqueuedBefore":1}', /enqueuedBefore must be a string/],
  ['$delete', '{"maxMessages":1,"enqueuedBefore":"x"}', /enqueuedBefore must be a date like/],
  ['$delete', '{"maxMessages":1,"enqueuedBefore":"2026-01-15"}', /must be a date like/],
  ['$delete', `{"maxMessages":1,${BEFORE},"more":1}`, /The body may not have 'more'/],
  ['$delete', `{"maxMessages":1,${BEFORE},"sequenceNumbers":[1]}`, /may not have 'maxMessages'/],
  ['$resubmit', '{', /The body is not valid JSON/],
  ['$resubmit', '[]', /The body must be an object/],
  ['$resubmit', '{"maxMessages":0}', /maxMessages is too small/],
  ['$resubmit', '{"maxMessages":1001}', /maxMessages is .*; the limit is 1000/],
  ['$resubmit', '{"maxMessages":1.5}', /maxMessages must be a whole number/],
  ['$resubmit', '{"maxMessages":"5"}', /maxMessages must be a number/],
  ['$resubmit', '{"max":5}', /The body may not have 'max'/],
  ['$resubmit', '{"sequenceNumbers":[]}', /sequenceNumbers is too small or short/],
  ['$resubmit', '{"sequenceNumbers":["1"]}', /must be a whole number/],
  ['$resubmit', '{"sequenceNumbers":[1,1]}', /names a message twice/],
  ['$resubmit', '{"sequenceNumbers":[1],"maxMessages":1}', /may not have 'maxMessages'/],
  ['$purge', '{"maxMessages":5}', /The body may not have 'maxMessages'/],
  ['$purge', '[]', /The body must be an object/],
  ['$purge', 'x', /The body is not valid JSON/],
];
for (const [route, body, sentence] of BAD_BODIES) {
  test(`${route} with ${body} is 400`, async () => {
    const { call, broker } = startApp();
    const response = await call('POST', `/q/messages/${route}`, { body });
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.equal(error.code, 'ArgumentError');
    assert.match(error.message, sentence);
    assert.deepEqual(broker.calls, []);
  });
}
