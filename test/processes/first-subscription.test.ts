import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import { type Outgoing, startPauses } from '../support/pause-client.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';
import {
  createSubscription,
  createTopic,
  drainBodies,
  subscription,
  updateTopic,
} from '../support/topic-entities.ts';
import { LEASE_END_MS, VirtualTime } from '../support/virtual-time.ts';

/**
 * No process caches the subscriptions of a topic that never had one. So the creation of its first subscription
 * is answered at once, and it gets every message sent afterwards; further ones wait until all leases end.
 */

const isTransaction = ({ command }: Outgoing) => command === 'TransactWriteItemsCommand';
const [FIRST, SECOND] = [subscription('first'), subscription('second')];

/** Two processes with a new topic; `waits` = how many changes have waited for leases so far. */
async function start(t: TestContext) {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const time = new VirtualTime();
  let waits = 0;
  const scheduler: Scheduler = {
    now: () => time.now(),
    soon: time.soon,
    every: (ms, work) => time.every(ms, work),
    after: (ms, work) => {
      if (ms === LEASE_END_MS) waits++;
      return time.after(ms, work);
    },
  };
  const here = await startBroker(t, { scheduler, client: pauses.client });
  const there = await startBroker(t, { beside: here, scheduler });
  await createTopic(here);
  return { here, there, pauses, waits: () => waits };
}

test('the first subscription of a topic waits for no lease, and gets what another process publishes', async (t) => {
  const { here, there, waits } = await start(t);
  expectStatus(await there.send('t', 'before'), 201);
  await createSubscription(here, FIRST);
  assert.equal(waits(), 0);
  expectStatus(await there.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(there, FIRST), ['after']);
});

test('a further subscription waits until all leases have ended, also after the first one was deleted', async (t) => {
  const { here, there, waits } = await start(t);
  await createSubscription(here, FIRST);
  expectStatus(await there.send('t', 'before'), 201);
  await createSubscription(here, SECOND);
  assert.equal(waits(), 1);
  for (const path of [FIRST, SECOND]) expectStatus(await here.request('DELETE', path), 200);
  expectStatus(await there.send('t', 'to nobody'), 201);
  await createSubscription(here, FIRST);
  assert.equal(waits(), 4);
  expectStatus(await there.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(there, FIRST), ['after']);
});

test('only one of two subscriptions that are created at the same time counts as the first', async (t) => {
  const { here, there, pauses, waits } = await start(t);
  const write = pauses.pauseNext(isTransaction);
  const creating = createSubscription(here, FIRST);
  await write.reached;
  await createSubscription(there, SECOND);
  assert.equal(waits(), 0);
  expectStatus(await there.send('t', 'before'), 201);
  write.goOn();
  await creating;
  assert.equal(waits(), 1);
  expectStatus(await there.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(here, FIRST), ['after']);
  assert.deepEqual(await drainBodies(here, SECOND), ['before', 'after']);
});

test('during an update of a topic, its second subscription does not count as the first', async (t) => {
  const { here, there, pauses, waits } = await start(t);
  const update = pauses.pauseNext(isTransaction);
  const updating = updateTopic(here, 't', { UserMetadata: 'changed' });
  await update.reached;
  await createSubscription(there, FIRST);
  update.goOn();
  await updating;
  const before = waits();
  expectStatus(await there.send('t', 'before'), 201);
  await createSubscription(here, SECOND);
  assert.equal(waits(), before + 1);
  expectStatus(await there.send('t', 'after'), 201);
  assert.deepEqual(await drainBodies(here, SECOND), ['after']);
});
