import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Management } from '../../../shared/broker/management/management.ts';
import { hookedClient, throttled } from '../../support/hooked-client.ts';
import { type Declaring, startDeclaring } from './declaring.ts';
import { queue, type Resources, subscription, topic } from './stack.ts';

const SHOP: Resources = {
  Invoices: queue('invoices'),
  Orders: queue('Orders', { lockDuration: 'PT30S', forwardDeadLetteredMessagesTo: 'invoices' }),
  Events: topic('events'),
  Audit: subscription('events/Subscriptions/audit'),
  Billing: subscription('events/Subscriptions/billing', {
    maxDeliveryCount: 3,
    rules: { large: 'Quantity > 100', urgent: { correlation: { subject: 'urgent' } } },
  }),
};

test('a stack creates its entities, updates and deletes them, and leaves all others alone', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await management.create('others', { kind: 'queue' });
  const shop = stack('shop');
  assert.equal(await shop.deploy(SHOP), undefined);
  assert.deepEqual(await entitiesOf(management), ['events', 'invoices', 'Orders', 'others']);
  const orders = await queueOf(management, 'orders');
  assert.equal(orders.lockMs, 30_000);
  assert.equal(orders.forwardDeadLetteredMessagesTo, 'invoices');
  assert.deepEqual(await rulesOf(management, 'events/Subscriptions/billing'), ['large', 'urgent']);
  assert.deepEqual(await rulesOf(management, 'events/Subscriptions/audit'), ['$Default']);

  const changed: Resources = {
    ...SHOP,
    Orders: queue('Orders', { maxDeliveryCount: 4 }),
    Billing: subscription('events/Subscriptions/billing', { rules: { large: 'Quantity > 200' } }),
  };
  assert.equal(await shop.deploy(changed), undefined);
  const updated = await queueOf(management, 'orders');
  assert.equal(updated.maxDeliveryCount, 4);
  assert.equal(updated.lockMs, 60_000);
  assert.equal(updated.forwardDeadLetteredMessagesTo, undefined);
  assert.deepEqual(await rulesOf(management, 'events/Subscriptions/billing'), ['large']);

  await shop.delete();
  assert.deepEqual(await entitiesOf(management), ['others']);
});

test('an update repairs what was changed by hand, and keeps authorization rules', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy(SHOP);
  await management.update(
    'orders',
    {
      kind: 'queue',
      status: 'Disabled',
      authorizationRules: [{ keyName: 'hand', rights: ['Send'] }],
    },
    '*',
  );
  await management.delete('events/Subscriptions/audit');
  await management.rules.create('events/Subscriptions/billing', {
    name: 'all',
    filter: { kind: 'true' },
  });
  const next: Resources = {
    ...SHOP,
    Orders: queue('Orders', { lockDuration: 'PT31S' }),
    Audit: subscription('events/Subscriptions/audit', { maxDeliveryCount: 5 }),
    Billing: subscription('events/Subscriptions/billing', { rules: { large: 'Quantity > 1' } }),
  };
  assert.equal(await shop.deploy(next), undefined);
  const { status, lockMs, authorizationRules } = await queueOf(management, 'orders');
  assert.deepEqual([status, lockMs], ['Active', 31_000]);
  assert.deepEqual(
    authorizationRules.map(({ keyName }) => keyName),
    ['hand'],
  );
  assert.equal(
    (await management.get('events/Subscriptions/audit')).description.kind,
    'subscription',
  );
  assert.deepEqual(await rulesOf(management, 'events/Subscriptions/billing'), ['large']);
});

test('another name replaces an entity: the new one is made before the old one is deleted', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Orders: queue('orders', { requiresSession: true }) });
  const { id } = await management.get('orders');
  assert.equal(await shop.deploy({ Orders: queue('orders-2') }), undefined);
  assert.deepEqual(await entitiesOf(management), ['orders-2']);
  assert.notEqual((await management.get('orders-2')).id, id);
});

test('another spelling of a name is the same entity, with its messages', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Orders: queue('orders') });
  const { id } = await management.get('orders');
  assert.equal(await shop.deploy({ Orders: queue('Orders') }), undefined);
  assert.equal((await management.get('orders')).id, id);
});

test('a setting that is fixed at creation is refused, and the rollback leaves the entity as it was', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const before: Resources = {
    Orders: queue('orders', { lockDuration: 'PT30S' }),
    Events: topic('events'),
    Audit: subscription('events/Subscriptions/audit'),
  };
  await shop.deploy(before);
  const ids = await idsOf(management, before);
  const changes: Resources = {
    requiresSession: queue('orders', { requiresSession: true }),
    requiresDuplicateDetection: queue('orders', { requiresDuplicateDetection: true }),
    Partitioning: queue('orders', { enablePartitioning: true }),
  };
  for (const [word, Orders] of Object.entries(changes)) {
    const reason = await shop.deploy({
      ...before,
      Events: topic('events', { status: 'SendDisabled' }),
      Orders,
    });
    assert.match(reason ?? '', new RegExp(word));
    assert.match(reason ?? '', /delete it, so that it is created anew/);
    const { lockMs } = await queueOf(management, 'orders');
    assert.equal(lockMs, 30_000);
    const { description } = await management.get('events');
    assert.equal(description.status, 'Active');
  }
  for (const settings of [
    { requiresDuplicateDetection: true },
    { enablePartitioning: true },
    { enableSubscriptionPartitioning: true },
  ]) {
    assert.ok(await shop.deploy({ ...before, Events: topic('events', settings) }));
  }
  const sessions = subscription('events/Subscriptions/audit', { requiresSession: true });
  assert.match((await shop.deploy({ ...before, Audit: sessions })) ?? '', /requiresSession/);
  assert.deepEqual(await idsOf(management, before), ids);
});

test('a rollback of a replacement keeps the old entity and deletes the new one', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Orders: queue('orders') });
  const { id } = await management.get('orders');
  const reason = await shop.deploy({
    Orders: queue('orders-2'),
    Broken: queue('broken', { forwardTo: 'nowhere' }),
  });
  assert.match(reason ?? '', /destination entity doesn't exist.*nowhere/);
  assert.deepEqual(await entitiesOf(management), ['orders']);
  assert.equal((await management.get('orders')).id, id);
  assert.deepEqual(shop.physicalIds, { Orders: 'orders' });
});

test('a replacement that fails halfway leaves nothing behind', async (t) => {
  let rulesFail = false;
  const client = hookedClient(({ command, collection }) => {
    // Every rule but the first of a subscription, which is written with it, is read before.
    if (rulesFail && /^Get/.test(command) && collection.includes('/r/')) throw throttled();
  });
  t.after(() => client.destroy());
  const { stack, management } = await startDeclaring(t, { client });
  const shop = stack('shop');
  const Events = topic('events');
  await shop.deploy({ Events, Audit: subscription('events/Subscriptions/audit') });
  rulesFail = true;
  const rules = { first: 'a = 1', second: 'a = 2' };
  const reason = await shop.deploy({
    Events,
    Audit: subscription('events/Subscriptions/audit-2', { rules }),
  });
  assert.match(reason ?? '', /^rules\.second: /);
  await assert.rejects(management.get('events/Subscriptions/audit-2'));
  assert.ok(await management.get('events/Subscriptions/audit'));
});

test('a topic and its subscriptions are replaced together', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Events: topic('a'), Audit: subscription('a/Subscriptions/audit') });
  const renamed = { Events: topic('b'), Audit: subscription('b/Subscriptions/audit') };
  assert.equal(await shop.deploy(renamed), undefined);
  assert.deepEqual(await entitiesOf(management), ['b']);
  assert.equal((await management.get('b/Subscriptions/audit')).name, 'b/Subscriptions/audit');
});

test('a queue that becomes a topic of the same name is refused, and stays', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Orders: queue('orders') });
  const reason = await shop.deploy({ Orders: topic('orders') });
  assert.match(reason ?? '', /has a queue 'orders', and no topic/);
  assert.equal((await management.get('orders')).description.kind, 'queue');
});

test('settings beyond the tier, and wrong values, are refused with their place', async (t) => {
  const { stack } = await startDeclaring(t, { tier: 'Basic' });
  const shop = stack('shop');
  const reasons = await Promise.all([
    shop.deploy({ A: queue('a', { requiresSession: true }) }),
    stack('two').deploy({ B: queue('b', { lockDuration: 'PT10M', maxDeliveryCount: 0 }) }),
    stack('three').deploy({ C: queue('c', { lockDurations: 'PT1M' }) }),
    stack('four').deploy({ D: { type: 'Custom::DynabusQueue', properties: { Name: 'd' } } }),
    stack('five').deploy({ E: { type: 'Custom::DynabusQuery', properties: {} } }),
    stack('six').deploy({ F: queue('f/$DeadLetterQueue') }),
  ]);
  assert.match(reasons[0] ?? '', /^requiresSession: .*Basic/);
  assert.match(reasons[1] ?? '', /lockDuration: [^\n]*\n[^\n]*maxDeliveryCount: /);
  assert.match(reasons[2] ?? '', /^lockDurations: .*write lockDuration/);
  assert.match(reasons[3] ?? '', /Settings are missing/);
  assert.match(reasons[4] ?? '', /Custom::DynabusQuery is unknown/);
  assert.ok(reasons[5]);
});

async function entitiesOf(management: Management): Promise<readonly string[]> {
  const lists = await Promise.all(
    (['queue', 'topic'] as const).map((kind) => management.list({ kind, skip: 0, top: 100 })),
  );
  return lists
    .flatMap(({ items }) => items.map(({ name }) => name))
    .sort((a, b) => a.localeCompare(b));
}

async function idsOf(management: Management, resources: Resources): Promise<readonly string[]> {
  const names = Object.values(resources).map(({ properties }) => String(properties['Name']));
  return await Promise.all(names.map(async (name) => (await management.get(name)).id));
}

async function queueOf(management: Declaring['management'], name: string) {
  const { description } = await management.get(name);
  assert.ok(description.kind === 'queue');
  return description;
}

async function rulesOf(management: Management, path: string): Promise<readonly string[]> {
  const { items } = await management.rules.list(path, { skip: 0, top: 100 });
  return items.map(({ stored }) => stored.rule.name).sort();
}
