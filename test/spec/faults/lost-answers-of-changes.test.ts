import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Outgoing, type PauseClient, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import {
  createRuledSubscription,
  createSubscription,
  createTopic,
  drainBodies,
  EVERYTHING,
  NOTHING,
  putRule,
  putSubscription,
  subscription,
} from '../../support/topic-entities.ts';

/**
 * A change whose answer is lost may have been made. The same request again answers so, and the change then
 * applies to all messages that are sent later.
 */

const isTransaction = ({ command }: Outgoing) => command === 'TransactWriteItemsCommand';
/** After a change whose answer is lost, the broker reads the entity or the rule. */
const isLookup = ({ command }: Outgoing) => command === 'GetItemCommand';

/** Loses the answer to the next transaction, and to the lookup that follows it. */
function loseChange(pauses: PauseClient): void {
  let isLost = false;
  pauses.loseNextAnswer((request) => {
    isLost ||= isTransaction(request);
    return isTransaction(request);
  });
  pauses.loseNextAnswer((request) => isLost && isLookup(request));
}

async function start(t: TestContext) {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  await createTopic(broker);
  return { broker, pauses };
}

test('a subscription whose creation answered 504, and then 409, gets messages that are sent later', async (t) => {
  const { broker, pauses } = await start(t);
  const path = subscription('new');
  await createSubscription(broker, subscription('old'));
  expectStatus(await broker.send('t', 'before'), 201);
  loseChange(pauses);
  expectStatus(await putSubscription(broker, path), 504);
  expectStatus(await putSubscription(broker, path), 409);
  expectStatus(await broker.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(broker, path), ['after']);
});

test('a rule whose creation answered 504, and then 409, applies to messages that are sent later', async (t) => {
  const { broker, pauses } = await start(t);
  const path = subscription('s');
  await createRuledSubscription(broker, path, { none: { filter: NOTHING } });
  expectStatus(await broker.send('t', 'before'), 201);
  loseChange(pauses);
  expectStatus(await putRule(broker, path, 'all', { filter: EVERYTHING }), 504);
  expectStatus(await putRule(broker, path, 'all', { filter: EVERYTHING }), 409);
  expectStatus(await broker.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(broker, path), ['after']);
});

test('a subscription whose deletion answered 504 delivers no messages through another process', async (t) => {
  const { broker: here, pauses } = await start(t);
  const there = await startBroker(t, { beside: here });
  const path = subscription('s');
  await createSubscription(here, path);
  expectStatus(await here.send('t', 'm'), 201);
  const [message] = await there.peekLockMany(path, 1);
  assert.ok(message);
  const abandon = { lockToken: message.broker.LockToken, outcome: 'abandon' } as const;
  await there.settle(path, [abandon]);

  loseChange(pauses);
  expectStatus(await here.request('DELETE', path), 504);
  expectStatus(await there.request('POST', `${path}/messages/head?timeout=0`), 410);
});

test('a change whose answer is lost succeeds if a lookup finds that it was made', async (t) => {
  const { broker, pauses } = await start(t);
  const path = subscription('s');
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await putSubscription(broker, path), 201);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await putRule(broker, path, 'all', { filter: EVERYTHING }), 201);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await broker.createQueue('q'), 201);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await broker.updateQueue('q', { LockDuration: 'PT10S' }), 200);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await broker.request('DELETE', 'q'), 200);
  expectStatus(await broker.request('GET', 'q'), 404);
});
