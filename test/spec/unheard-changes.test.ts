import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Outgoing, startPauses } from '../support/pause-client.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';
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
} from '../support/topic-entities.ts';

/**
 * A change of which nothing was heard may have been made. Who asks for it again hears so, and may count
 * on it from then on: what is sent to the topic comes to where it says.
 */

const isTransaction = ({ command }: Outgoing) => command === 'TransactWriteItemsCommand';

async function start(t: TestContext) {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  await createTopic(broker);
  return { broker, pauses };
}

test('a subscription that was created unheard gets what is sent once it is known to be there', async (t) => {
  const { broker, pauses } = await start(t);
  const path = subscription('new');
  await createSubscription(broker, subscription('old'));
  expectStatus(await broker.send('t', 'before'), 201);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await putSubscription(broker, path), 504);
  expectStatus(await putSubscription(broker, path), 409);
  expectStatus(await broker.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(broker, path), ['after']);
});

test('a rule that was created unheard decides once it is known to be there', async (t) => {
  const { broker, pauses } = await start(t);
  const path = subscription('s');
  await createRuledSubscription(broker, path, { none: { filter: NOTHING } });
  expectStatus(await broker.send('t', 'before'), 201);
  pauses.loseNextAnswer(isTransaction);
  expectStatus(await putRule(broker, path, 'all', { filter: EVERYTHING }), 504);
  expectStatus(await putRule(broker, path, 'all', { filter: EVERYTHING }), 409);
  expectStatus(await broker.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(broker, path), ['after']);
});
