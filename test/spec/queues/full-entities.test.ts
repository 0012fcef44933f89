import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BODY, ENTITY_BYTES, FILL, fill, LARGE } from '../../support/full-entity.ts';
import { SMALL_ENTITIES } from '../../support/small-limits.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createSubscription,
  createTopic,
  subscription,
  transfersOf,
} from '../../support/topic-entities.ts';

/** A full queue `target`. */
async function startFull(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t, { tier: 'Premium', limits: SMALL_ENTITIES });
  expectStatus(await broker.createQueue('target', LARGE), 201);
  await fill(broker, 'target');
  return broker;
}

test('#159 #123 #C12 a full queue refuses sends until a message is received, and messages that are forwarded to it go to the source’s transfer dead-letter queue', async (t) => {
  const broker = await startFull(t);
  const refused = await broker.send('target', BODY);
  expectStatus(refused, 403);
  assert.equal(refused.headers.get('x-dynabus-error'), 'QuotaExceeded');
  const [, size, limit] =
    /The maximum entity size has been reached or exceeded for Queue: 'target'. Size of entity in bytes:(\d+), Max entity size in bytes:(\d+)/.exec(
      refused.text,
    ) ?? [];
  assert.equal(Number(limit), ENTITY_BYTES);
  assert.ok(Number(size) <= ENTITY_BYTES && Number(size) >= FILL * BODY.length, size);
  assert.match(refused.text, /TrackingId:/);
  expectStatus(await broker.send('target', 'what still fits'), 201);

  expectStatus(await broker.createQueue('source', { ...LARGE, ForwardTo: 'target' }), 201);
  expectStatus(await broker.send('source', BODY), 201);
  assert.deepEqual(await counts(broker, 'source'), { Message: 1, TransferDeadLetter: 1 });
  assert.deepEqual(await counts(broker, 'target'), { Message: FILL + 1, Active: FILL + 1 });
  const [lost] = await broker.receiveAndDeleteMany(transfersOf('source'), 1);
  assert.equal(lost?.body.length, BODY.length);
  assert.match(String(lost?.properties['DeadLetterReason']), /quota|size|full/i);

  const [first] = await broker.receiveAndDeleteMany('target', 1);
  assert.equal(first?.body.length, BODY.length);
  expectStatus(await broker.send('source', BODY), 201);
  assert.deepEqual(await counts(broker, 'source'), {});
  expectStatus(await broker.send('target', BODY), 403);
});

test('#159 a full topic refuses sends until a message is received from its subscription', async (t) => {
  const broker = await startBroker(t, { tier: 'Premium', limits: SMALL_ENTITIES });
  await createTopic(broker, 't', LARGE);
  await createSubscription(broker, subscription('s'));
  await fill(broker, 't');
  const refused = await broker.send('t', BODY);
  expectStatus(refused, 403);
  assert.equal(refused.headers.get('x-dynabus-error'), 'QuotaExceeded');
  assert.match(refused.text, /maximum entity size has been reached or exceeded for Topic: 't'/);
  await broker.receiveAndDelete(subscription('s'));
  expectStatus(await broker.send('t', BODY), 201);
});
