import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { acceptSession, TestSession } from '../../support/test-session.ts';
import { startTries, type TriesClient } from '../../support/tries-client.ts';

/**
 * A write succeeds, its answer is lost, and its repetition conflicts with other writes to the same items:
 * the answer to the last attempt does not tell whether the write succeeded.
 */

const DEAD = 'q/$deadletterqueue';

async function start(
  t: TestContext,
): Promise<{ readonly broker: TestBroker; readonly tries: TriesClient }> {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  const broker = await startBroker(t, { client: tries.client });
  expectStatus(await broker.createQueue('q'), 201);
  return { broker, tries };
}

test('a completion that may have succeeded answers 504, not MessageLockLost', async (t) => {
  const { broker, tries } = await start(t);
  expectStatus(await broker.send('q', 'm'), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  tries.next('DeleteItemCommand', ['answer-lost', 'conflict']);
  assert.equal(await broker.complete(message), 504);
});

test('a message whose dead-lettering lost its answer keeps its body', async (t) => {
  const { broker, tries } = await start(t);
  const texts = Array.from({ length: 2 }, () => randomBytes(5000).toString('base64'));
  expectStatus(
    await broker.sendBatch(
      'q',
      texts.map((Body) => ({ Body })),
    ),
    201,
  );
  const [message] = await broker.peekLockMany('q', 2);
  assert.ok(message);
  tries.next('TransactWriteItemsCommand', ['answer-lost', 'conflict']);
  const [outcome] = await broker.settle('q', [
    { lockToken: message.broker.LockToken, outcome: 'deadLetter' },
  ]);
  await broker.units(async () => {});
  assert.equal((await broker.peekLock(DEAD))?.body, texts[0]);
  assert.equal(outcome?.settled, true);
});

test('messages whose send lost its answer, and that were received meanwhile, are not stored again', async (t) => {
  const { broker, tries } = await start(t);
  const batch = Array.from({ length: 40 }, (_, i) => ({ Body: `${i}` }));
  let received = 0;
  const receiveAll = async () => {
    received += (await broker.receiveAndDeleteMany('q', 40)).length;
  };
  tries.next('TransactWriteItemsCommand', ['answer-lost', receiveAll, 'conflict']);
  expectStatus(await broker.sendBatch('q', batch), 504);
  assert.equal(received, 40);
  assert.deepEqual(await broker.peek('q'), []);
});

test('row 18: a write transaction that may have succeeded answers 504, even if its last attempt is refused', async (t) => {
  const { broker, tries } = await start(t);
  const batch = Array.from({ length: 40 }, (_, i) => ({ Body: `${i}` }));
  const receiveAll = async () => {
    assert.equal((await broker.receiveAndDeleteMany('q', 40)).length, 40);
  };
  tries.next('TransactWriteItemsCommand', ['answer-lost', receiveAll, 'full']);
  expectStatus(await broker.sendBatch('q', batch), 504);
});

test('a throttled write transaction is repeated', async (t) => {
  const { broker, tries } = await start(t);
  tries.next('TransactWriteItemsCommand', ['throttled', 'throttled']);
  const [number] = await broker.schedule('q', [
    { Body: 'm', BrokerProperties: { ScheduledEnqueueTimeUtc: '2026-02-01T00:00:00Z' } },
  ]);
  assert.ok(number);
});

test('a session state whose write loses its answer just before the session is released is kept for the next holder', async (t) => {
  const { broker: here, tries } = await start(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await here.createQueue('s', { RequiresSession: 'true' }), 201);
  const held = await acceptSession(here, 's', 'a');
  const { id: sessionId, lock: sessionLock, lockedUntilUtc } = held;
  const elsewhere = new TestSession(there, 's', { sessionId, sessionLock, lockedUntilUtc });
  const state = 'x'.repeat(1000);
  tries.next('UpdateItemCommand', ['answer-lost', () => elsewhere.release()]);
  const answer = await held.request('PUT', 'sessions/$state', { body: state });
  await here.units(async () => {});
  assert.equal(await (await acceptSession(there, 's', 'a')).state(), state);
  expectStatus(answer, 504);
});
