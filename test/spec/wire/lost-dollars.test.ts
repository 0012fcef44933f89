import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { requireRefusal } from '../management/refusal.ts';
import { bodies } from '../queues/queue.ts';

/**
 * Paths in which the user's shell replaced `$deadletterqueue` or `$purge`, so that they name something
 * else.
 */

const SHELL = /A shell takes the '\$' of '\$deadletterqueue'/;

async function start(t: Parameters<typeof startBroker>[0]): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  expectStatus(await broker.send('q', 'live'), 201);
  return broker;
}

/** Checks that the queue still has the one message that was sent. */
async function requireUntouched(broker: TestBroker): Promise<void> {
  const [message, ...others] = await broker.peek('q');
  assert.deepEqual([message?.body, message?.broker.DeliveryCount, others], ['live', 0, []]);
}

for (const [method, path] of [
  ['POST', 'q//messages/$resubmit'],
  ['POST', 'q//messages/$purge'],
  ['POST', 'q//messages'],
  ['POST', 'q//messages/head?timeout=0'],
  ['DELETE', 'q//messages/head?timeout=0'],
  ['DELETE', 'q///messages/head?timeout=0'],
  ['GET', 'q//messages'],
  ['DELETE', 'q%2F/messages/head?timeout=0'],
  ['DELETE', 'q/%2fmessages/head?timeout=0'],
  ['PUT', 'q//sessions'],
  ['DELETE', '/q'],
  ['POST', 'q/messages//head?timeout=0'],
] as const) {
  test(`${method} ${path} is refused, with a hint about the shell`, async (t) => {
    const broker = await start(t);
    requireRefusal(await broker.request(method, path), 400, /has an empty segment/);
    requireRefusal(await broker.request(method, path), 400, SHELL);
    await requireUntouched(broker);
  });
}

for (const [method, path] of [
  ['POST', 'q/messages/'],
  ['DELETE', 'q/messages/head/?timeout=0'],
  ['PUT', 'q/'],
  ['DELETE', 'q/'],
  ['DELETE', 'q%2f'],
] as const) {
  test(`${method} ${path}: only a path that is read may end with a slash`, async (t) => {
    const broker = await start(t);
    requireRefusal(await broker.request(method, path), 400, /ends with a slash, which only GET/);
    requireRefusal(await broker.request(method, path), 400, SHELL);
    await requireUntouched(broker);
    expectStatus(await broker.request('GET', 'q/messages/'), 200);
    expectStatus(await broker.request('GET', 'q/'), 200);
  });
}

for (const [method, path, right] of [
  ['DELETE', 'q/deadletterqueue/messages/head?timeout=0', '/q/$deadletterqueue/messages/head'],
  ['GET', 'q/DeadLetterQueue/messages', '/q/$deadletterqueue/messages'],
  ['POST', 'q/deadletterqueue/messages/$purge', '/q/$deadletterqueue/messages/$purge'],
  [
    'POST',
    'q/transfer/deadletterqueue/messages/head',
    '/q/$transfer/$deadletterqueue/messages/head',
  ],
  ['DELETE', 'q/deadletterqueue', '/q/$deadletterqueue'],
] as const) {
  test(`${method} ${path}: a sub-queue without its $ is 404, with the right form`, async (t) => {
    const broker = await start(t);
    const answer = await broker.request(method, path);
    assert.equal(answer.status, 404, answer.text);
    assert.ok(answer.text.includes(`The path of the sub-queue is '${right}'.`), answer.text);
    assert.match(answer.text, SHELL);
    await requireUntouched(broker);
  });
}

for (const id of ['https://a/b', 'a//b', '/x', 'x/', 'a/b']) {
  test(`a message is completed by its MessageId '${id}'`, async (t) => {
    const broker = await startBroker(t);
    expectStatus(await broker.createQueue('q'), 201);
    expectStatus(await broker.send('q', 'm', { MessageId: id }), 201);
    const token = (await broker.peekLock('q'))?.broker.LockToken;
    const path = `q/messages/${encodeURIComponent(id)}/${token}`;
    expectStatus(await broker.request('POST', path), 200);
    expectStatus(await broker.request('DELETE', path), 200);
  });
}

test('a missing queue with the name of a sub-queue is a missing queue', async (t) => {
  const broker = await start(t);
  requireRefusal(
    await broker.request('POST', 'deadletterqueue/messages'),
    410,
    /could not be found\. TrackingId/,
  );
});

test('a queue may have the name deadletterqueue', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('q/deadletterqueue'), 201);
  expectStatus(await broker.send('q/deadletterqueue', 'x'), 201);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q/deadletterqueue', 9)), ['x']);
  await requireUntouched(broker);
});
