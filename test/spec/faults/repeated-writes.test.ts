import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { acceptSession, TestSession } from '../../support/test-session.ts';
import { startTries, type TriesClient } from '../../support/tries-client.ts';

/**
 * A write that was carried out unheard, and then, as it was tried again, found others at the same items
 * for a moment: what its last try says of its conditions says nothing of the write.
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

test('a completion that may have been carried out is not refused for a lost lock', async (t) => {
  const { broker, tries } = await start(t);
  expectStatus(await broker.send('q', 'm'), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  tries.next('DeleteItemCommand', ['unheard', 'conflict']);
  assert.equal(await broker.complete(message), 504);
});

test('a message that was dead-lettered unheard keeps its body', async (t) => {
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
  tries.next('TransactWriteItemsCommand', ['unheard', 'conflict']);
  const [outcome] = await broker.settle('q', [
    { lockToken: message.broker.LockToken, outcome: 'deadLetter' },
  ]);
  await broker.units(async () => {});
  assert.equal((await broker.peekLock(DEAD))?.body, texts[0]);
  assert.equal(outcome?.settled, true);
});

test('messages that were stored unheard, and are gone, do not come back', async (t) => {
  const { broker, tries } = await start(t);
  const batch = Array.from({ length: 40 }, (_, i) => ({ Body: `${i}` }));
  let taken = 0;
  const takeAll = async () => {
    taken += (await broker.receiveAndDeleteMany('q', 40)).length;
  };
  tries.next('TransactWriteItemsCommand', ['unheard', takeAll, 'conflict']);
  expectStatus(await broker.sendBatch('q', batch), 504);
  assert.equal(taken, 40);
  assert.deepEqual(await broker.peek('q'), []);
});

test('row 18: a transaction that may have been carried out is not refused, whatever its last try says', async (t) => {
  const { broker, tries } = await start(t);
  const batch = Array.from({ length: 40 }, (_, i) => ({ Body: `${i}` }));
  const takeAll = async () => {
    assert.equal((await broker.receiveAndDeleteMany('q', 40)).length, 40);
  };
  tries.next('TransactWriteItemsCommand', ['unheard', takeAll, 'full']);
  expectStatus(await broker.sendBatch('q', batch), 504);
});

test('a transaction that is throttled is tried again', async (t) => {
  const { broker, tries } = await start(t);
  tries.next('TransactWriteItemsCommand', ['throttled', 'throttled']);
  const [number] = await broker.schedule('q', [
    { Body: 'm', BrokerProperties: { ScheduledEnqueueTimeUtc: '2026-02-01T00:00:00Z' } },
  ]);
  assert.ok(number);
});

test('a state that was set unheard, just before its session was given back, is there for the next holder', async (t) => {
  const { broker: here, tries } = await start(t);
  const there = await startBroker(t, { beside: here });
  expectStatus(await here.createQueue('s', { RequiresSession: 'true' }), 201);
  const held = await acceptSession(here, 's', 'a');
  const { id: sessionId, lock: sessionLock, lockedUntilUtc } = held;
  const elsewhere = new TestSession(there, 's', { sessionId, sessionLock, lockedUntilUtc });
  const state = 'x'.repeat(1000);
  tries.next('UpdateItemCommand', ['unheard', () => elsewhere.release()]);
  const answer = await held.request('PUT', 'sessions/$state', { body: state });
  await here.units(async () => {});
  assert.equal(await (await acceptSession(there, 's', 'a')).state(), state);
  expectStatus(answer, 504);
});
