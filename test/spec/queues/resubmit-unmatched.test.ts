import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hookedClient } from '../../support/hooked-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';
import { bodies, DEAD, settlementOf } from './queue.ts';

/** Dead letters that go to a topic whose rules change at the same time (docs/semantics/receiving.md, L21). */

test('a message stays if the rule for it goes away at any moment of the call', async (t) => {
  let left = 0;
  let change: () => Promise<unknown> = async () => {};
  const client = hookedClient(async () => {
    if (--left === 0) await change();
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client });
  const beside = await startBroker(t, { beside: broker });
  expectStatus(await beside.createQueue('q'), 201);
  await createTopic(beside);
  for (let request = 1; left <= 0; request++) {
    assert.ok(request < 30, 'a resubmission makes fewer requests');
    const subscription = `t/subscriptions/s${request}`;
    await createSubscription(beside, subscription);
    expectStatus(await beside.send('q', 'm'), 201);
    const held = await beside.peekLockMany('q', 1);
    await beside.settle(
      'q',
      held.map((one) => settlementOf(one, 'deadLetter')),
    );
    const removal = () => beside.request('DELETE', `${subscription}/rules/$Default`);
    change = removal;
    left = request;
    await broker.post(DEAD, '$resubmit', { to: 't' });
    if (left > 0) await removal();
    const there = bodies(await beside.peek(subscription));
    assert.deepEqual([...there, ...bodies(await beside.peek(DEAD))], ['m'], `request ${request}`);
    await beside.purge(DEAD);
  }
});
