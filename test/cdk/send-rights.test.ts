import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { TABLE_RIGHTS } from '../../cdk/functions.ts';
import { clientWithRights } from '../support/rights-client.ts';
import { FEW_ITEMS, MORE_THAN_A_TRANSACTION } from '../support/small-limits.ts';
import { startBroker } from '../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../support/test-broker.ts';
import {
  createSubscriptions,
  createTopic,
  drainBodies,
  subscription,
} from '../support/topic-entities.ts';

const DETECTING = { RequiresDuplicateDetection: 'true' };

/** A namespace, and a process beside that may do what the function that sends may do. */
async function startSender(t: TestContext) {
  const broker = await startBroker(t, { limits: FEW_ITEMS });
  const denied: string[] = [];
  const client = clientWithRights(TABLE_RIGHTS.send, (what) => denied.push(what));
  t.after(() => client.destroy());
  const sender = await startBroker(t, { beside: broker, client, limits: FEW_ITEMS });
  return { broker, sender, denied };
}

const batchOf = (...ids: readonly string[]): readonly BatchMessage[] =>
  ids.map((MessageId) => ({ Body: MessageId, BrokerProperties: { MessageId } }));

async function sendAll(sender: TestBroker, path: string): Promise<void> {
  for (const batch of [batchOf('a'), batchOf('b', 'c'), batchOf('c', 'd'), batchOf('a')]) {
    expectStatus(await sender.sendBatch(path, batch), 201);
  }
}

test('the rights of the function that sends are enough for queues that detect duplicates', async (t) => {
  const { broker, sender, denied } = await startSender(t);
  expectStatus(await broker.createQueue('q', DETECTING), 201);
  await sendAll(sender, 'q');
  assert.deepEqual(await drainBodies(broker, 'q'), ['a', 'b', 'c', 'd']);
  assert.deepEqual(denied, []);
});

test('they are enough for topics with more subscriptions than one transaction holds', async (t) => {
  const { broker, sender, denied } = await startSender(t);
  await createTopic(broker, 't', DETECTING);
  const paths = Array.from({ length: MORE_THAN_A_TRANSACTION }, (_, i) => subscription(`s${i}`));
  await createSubscriptions(broker, paths);
  await sendAll(sender, 't');
  assert.deepEqual(await drainBodies(broker, paths.at(-1) ?? ''), ['a', 'b', 'c', 'd']);
  assert.deepEqual(denied, []);
});

test('they are enough for sends that are carried out once, to queues and topics', async (t) => {
  const { broker, sender, denied } = await startSender(t);
  expectStatus(await broker.createQueue('q', DETECTING), 201);
  await createTopic(broker);
  await createSubscriptions(broker, [subscription('s')]);
  for (const path of ['q', 't']) {
    for (const key of [`${path} 1`, `${path} 2`, `${path} 1`]) {
      expectStatus(await sender.send(path, key, {}, { 'Idempotency-Key': key }), 201);
    }
    const other = await sender.send(path, 'other', {}, { 'Idempotency-Key': `${path} 1` });
    expectStatus(other, 400);
  }
  assert.deepEqual(await drainBodies(broker, 'q'), ['q 1', 'q 2']);
  assert.deepEqual(await drainBodies(broker, subscription('s')), ['t 1', 't 2']);
  assert.deepEqual(denied, []);
});
