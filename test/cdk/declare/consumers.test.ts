import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Management } from '../../../shared/broker/management/management.ts';
import { startDeclaring } from './declaring.ts';
import { consumer, queue, retained, subscription, topic } from './stack.ts';

const OTHER = 'arn:aws:lambda:eu-west-1:111122223333:function:other';
/** Fails in every deployment. */
const BROKEN = queue('broken', { lockDuration: 'PT1H' });

/** The consumers of a queue or subscription: sub-queue, name, function, and the largest batch. */
async function shownOf(management: Management, path: string): Promise<readonly string[]> {
  const { consumers = {} } = await management.get(path);
  return Object.values(consumers)
    .map(({ subQueue, name, target, maxBatch }) =>
      [subQueue, name, target.replace(/.*:/, ''), maxBatch].join(' '),
    )
    .sort();
}

test('consumers are made, changed, renamed and deleted with their resources', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const Orders = queue('Orders');
  const made = {
    Orders,
    Events: topic('events'),
    Audit: subscription('events/Subscriptions/audit'),
    Worker: consumer('Orders', 'Worker', { maxBatch: 5, batchWindow: 'PT1S', enabled: false }),
    Failed: consumer('Orders/$deadletterqueue', 'failed'),
    Auditor: consumer('events/Subscriptions/audit', 'auditor', { maxPerSecond: 9 }),
  };
  assert.equal(await shop.deploy(made), undefined);
  assert.deepEqual(await shownOf(management, 'orders'), [
    'deadLetter failed worker 10',
    'main Worker worker 5',
  ]);
  assert.deepEqual(await shownOf(management, 'events/subscriptions/audit'), [
    'main auditor worker 10',
  ]);
  const { consumers } = await management.get('orders');
  const { id, batchWindowMs, enabled } = consumers?.['main/worker'] ?? assert.fail();
  assert.deepEqual([batchWindowMs, enabled], [1000, false]);
  assert.equal(shop.physicalIds['Worker'], 'orders/$consumers/main/worker');

  // A setting that is left out gets its default again.
  assert.equal(await shop.deploy({ ...made, Worker: consumer('Orders', 'worker') }), undefined);
  const changed = (await management.get('orders')).consumers?.['main/worker'];
  assert.deepEqual([changed?.maxBatch, changed?.enabled, changed?.id], [10, true, id]);

  assert.equal(await shop.deploy({ ...made, Worker: consumer('Orders', 'other') }), undefined);
  assert.deepEqual(await shownOf(management, 'orders'), [
    'deadLetter failed worker 10',
    'main other worker 10',
  ]);

  assert.equal(await shop.deploy({ Orders }), undefined);
  assert.deepEqual(await shownOf(management, 'orders'), []);
});

test('an event that changes nothing does not change the consumer', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const Orders = queue('orders');
  await shop.deploy({ Orders, Worker: consumer('orders', 'worker') });
  const before = (await management.get('orders')).consumers;
  const other = consumer('orders', 'worker', { maxBatch: 10 }, { Other: 1 });
  assert.equal(await shop.deploy({ Orders, Worker: other }), undefined);
  assert.deepEqual((await management.get('orders')).consumers, before);
});

test('the deletion of a consumer succeeds where its entity is gone, or a topic has its name', async (t) => {
  const { stack, management } = await startDeclaring(t);
  for (const isTopic of [false, true]) {
    const shop = stack(`shop-${isTopic}`);
    await shop.deploy({ Orders: queue('orders'), Worker: consumer('orders', 'worker') });
    await management.delete('orders');
    if (isTopic) await stack('other').deploy({ Orders: retained(topic('orders')) });
    await shop.delete();
  }
});

test('an updated queue keeps its consumers, and a replaced one takes them along', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const Worker = consumer('orders', 'worker');
  await shop.deploy({ Orders: queue('orders'), Worker });
  await shop.deploy({ Orders: queue('orders', { maxDeliveryCount: 3 }), Worker });
  assert.deepEqual(await shownOf(management, 'orders'), ['main worker worker 10']);
  const renamed = { Orders: queue('orders-2'), Worker: consumer('orders-2', 'worker') };
  assert.equal(await shop.deploy(renamed), undefined);
  assert.deepEqual(await shownOf(management, 'orders-2'), ['main worker worker 10']);
});

test('a consumer made by hand is refused, or adopted and left when its resource goes', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const Orders = queue('orders');
  await shop.deploy({ Orders });
  await management.consumers.put('orders', 'worker', { target: OTHER, maxBatch: 3 });
  const refused = await shop.deploy({ Orders, Worker: consumer('orders', 'worker') });
  assert.match(refused ?? '', /There is a consumer 'worker' of 'orders' already, and no stack has/);
  assert.deepEqual(await shownOf(management, 'orders'), ['main worker other 3']);

  const Worker = consumer('orders', 'worker', {}, { Adopt: 'true' });
  assert.equal(await shop.deploy({ Orders, Worker }), undefined);
  assert.deepEqual(await shownOf(management, 'orders'), ['main worker worker 10']);
  assert.equal(await shop.deploy({ Orders }), undefined);
  assert.deepEqual(await shownOf(management, 'orders'), ['main worker worker 10']);
});

test('a consumer of another stack is refused, and stays as it is', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await stack('shop').deploy({
    Orders: queue('orders'),
    Worker: consumer('orders', 'worker', { maxBatch: 3 }),
  });
  const reason = await stack('other').deploy({ Mine: consumer('orders', 'WORKER') });
  assert.match(reason ?? '', /belongs to Worker of the stack shop/);
  assert.deepEqual(await shownOf(management, 'orders'), ['main worker worker 3']);
});

test('a rollback deletes what was made, and gives back what was changed or moved with its settings', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const Orders = queue('orders');
  const Worker = consumer('orders', 'worker', { maxBatch: 3 });
  await shop.deploy({ Orders, Worker });
  const moved = consumer('orders', 'worker', { target: OTHER });
  for (const changed of [
    { Orders, Worker, More: consumer('orders', 'more'), Broken: BROKEN },
    { Orders, Worker: moved, Broken: BROKEN },
    { Orders, Worker: consumer('orders', 'other'), Broken: BROKEN },
    { Orders, Moved: moved, Broken: BROKEN },
  ]) {
    assert.match((await shop.deploy(changed)) ?? '', /lockDuration/);
    assert.deepEqual(await shownOf(management, 'orders'), ['main worker worker 3']);
  }
  assert.equal(await shop.deploy({ Orders, Moved: moved }), undefined);
  assert.deepEqual(await shownOf(management, 'orders'), ['main worker other 10']);
});

test('a consumer without an entity, or with wrong properties, is refused', async (t) => {
  const { stack } = await startDeclaring(t);
  await stack('shop').deploy({
    Events: topic('events'),
    Orders: queue('orders'),
    Forwards: queue('forwards', { forwardTo: 'orders' }),
  });
  const wrong = {
    'could not be found': consumer('nowhere', 'worker'),
    'is a topic, which has no consumers': consumer('events', 'worker'),
    'forwards its messages': consumer('forwards', 'worker'),
    'maxBatch: ': consumer('orders', 'worker', { maxBatch: 0 }),
    'batch: ': consumer('orders', 'worker', { batch: 1 }),
    'target: The target .* is not valid': consumer('orders', 'worker', { target: 'worker' }),
    'Only local servers': consumer('orders', 'worker', { target: 'http://localhost/a' }),
    'a/b': consumer('orders', 'a/b'),
  };
  for (const [words, Worker] of Object.entries(wrong)) {
    assert.match((await stack('other').deploy({ Worker })) ?? '', new RegExp(words));
  }
  // Nothing of them is left that would hold a name.
  assert.equal(await stack('third').deploy({ Worker: consumer('orders', 'worker') }), undefined);
});
