import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Management } from '../../../shared/broker/management/management.ts';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';
import { FakeParameters, startDeclaring } from './declaring.ts';
import { queue, type Resources, retained, rule, subscription, topic } from './stack.ts';

/** A resource whose creation fails. */
const BROKEN = queue('broken', { forwardTo: 'nowhere' });
const ADOPT = { Adopt: 'true' };

test('a deployment that fails does not delete what an earlier stack of its name has left', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const attempts: readonly Resources[] = [
    { Orders: queue('orders'), Broken: BROKEN },
    { Orders: queue('orders', {}, ADOPT), Broken: BROKEN },
    { Orders: queue('orders', { requiresSession: true }) },
    { Orders: { ...queue('orders'), properties: { Name: 'orders' } } },
  ];
  await stack('shop').deploy({ Orders: queue('orders') });
  const { id } = await management.get('orders');
  for (const resources of attempts) {
    // The stack was deleted, its queue retained, and it is deployed again.
    assert.notEqual(await stack('shop').deploy(resources), undefined);
    assert.equal((await management.get('orders')).id, id);
  }
  // Nothing tells later whether a deletion undoes a deployment, so what a stack has found stays.
  const again = stack('shop');
  assert.equal(await again.deploy({ Orders: queue('orders') }), undefined);
  assert.equal(await again.deploy({ Orders: queue('orders', { maxDeliveryCount: 2 }) }), undefined);
  await again.delete();
  assert.equal((await management.get('orders')).id, id);
});

test('a change of the name that fails does not delete a queue that had the new name before', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Orders: retained(queue('a')) });
  const { id } = await management.get('a');
  assert.equal(await shop.deploy({ Orders: retained(queue('b')) }), undefined);
  const back = { Orders: retained(queue('a')) };
  assert.match((await shop.deploy({ ...back, Broken: BROKEN })) ?? '', /nowhere/);
  assert.match(
    (await shop.deploy({ Orders: queue('a', { requiresSession: true }) })) ?? '',
    /session/i,
  );
  assert.equal((await management.get('a')).id, id);
  assert.equal(await shop.deploy(back), undefined);
  assert.equal((await management.get('a')).id, id);
});

test('a queue that somebody has made by hand is never deleted, however often it moves', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await management.create('old', { kind: 'queue' });
  const { id } = await management.get('old');
  const shop = stack('shop');
  const Old = queue('old', {}, ADOPT);
  assert.equal(await shop.deploy({ Old }), undefined);
  assert.match((await shop.deploy({ Moved: Old, Broken: BROKEN })) ?? '', /nowhere/);
  assert.equal(await shop.deploy({ Moved: Old }), undefined);
  const other = stack('other');
  const Taken = queue('old', {}, { AdoptFrom: 'shop' });
  assert.equal(await other.deploy({ Taken }), undefined);
  await other.delete();
  await shop.delete();
  assert.equal((await management.get('old')).id, id);
});

test('a queue that was deleted by hand and made again by its stack is the stack’s own', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await management.create('old', { kind: 'queue' });
  const shop = stack('shop');
  await shop.deploy({ Old: queue('old', {}, ADOPT) });
  await management.delete('old');
  assert.equal(await shop.deploy({ Old: queue('old', { maxDeliveryCount: 3 }) }), undefined);
  await shop.delete();
  await assert.rejects(management.get('old'), { code: 'MessagingEntityNotFound' });
});

test('a replacement that takes over a queue and fails gives it back', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const old = stack('old');
  await old.deploy({ Theirs: queue('theirs') });
  await management.create('hand', { kind: 'queue' });
  const shop = stack('shop');
  await shop.deploy({ Mine: queue('mine') });
  for (const [name, more] of [
    ['theirs', { AdoptFrom: 'old' }],
    ['hand', ADOPT],
  ] as const) {
    const reason = await shop.deploy({ Mine: queue(name, { requiresSession: true }, more) });
    assert.match(reason ?? '', /session/i);
  }
  assert.equal(await old.deploy({ Theirs: queue('theirs', { maxDeliveryCount: 3 }) }), undefined);
  assert.equal(await stack('third').deploy({ Hand: queue('hand', {}, ADOPT) }), undefined);
});

test('a rollback undoes a change of the name although another resource has taken the old one over', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ A: queue('a') });
  const { id } = await management.get('a');
  const next = { A: queue('c'), B: queue('a', {}, ADOPT) };
  assert.match((await shop.deploy({ ...next, Broken: BROKEN })) ?? '', /nowhere/);
  assert.equal((await management.get('a')).id, id);
  await assert.rejects(management.get('c'));
  assert.equal(await shop.deploy(next), undefined);
  assert.equal((await management.get('a')).id, id);
});

test('a rollback finds a queue that was deleted by hand and made anew by another resource', async (t) => {
  const { stack, management, clock } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ A: queue('a') });
  await management.delete('a');
  clock.advance({ hours: 1 });
  const next = { B: queue('a'), A: queue('c') };
  assert.match((await shop.deploy({ ...next, Broken: BROKEN })) ?? '', /nowhere/);
  await management.get('a');
  await assert.rejects(management.get('c'));
  await shop.delete();
  await assert.rejects(management.get('a'));
});

test('a queue that was deleted by hand is free again after a deployment that made it anew has failed', async (t) => {
  const { stack, management, clock } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ A: queue('a') });
  await management.delete('a');
  clock.advance({ hours: 1 });
  assert.match((await shop.deploy({ B: queue('a'), Broken: BROKEN })) ?? '', /nowhere/);
  await assert.rejects(management.get('a'));
  assert.equal(await shop.deploy({ B: queue('a') }), undefined);
  await management.get('a');
});

test('a key that was deleted by hand and made anew goes with the rollback', async (t) => {
  const { stack, management, parameters, clock } = await startDeclaring(t);
  const shop = stack('shop');
  const before = { Orders: queue('orders'), A: rule('orders', 'sender', 'Send') };
  await shop.deploy(before);
  await management.update('orders', { kind: 'queue', authorizationRules: [] }, '*');
  clock.advance({ hours: 1 });
  const next = { ...before, B: rule('orders', 'sender', 'Listen'), Broken: BROKEN };
  assert.match((await shop.deploy(next)) ?? '', /nowhere/);
  const { description } = await management.get('orders');
  assert.ok(description.kind === 'queue');
  assert.deepEqual(description.authorizationRules, []);
  assert.equal(parameters.values.size, 0);
});

test('a deletion that CloudFormation asks for once more takes nothing that was given back', async (t) => {
  const { stack, management, answer } = await startDeclaring(t);
  await stack('shop').deploy({ Orders: queue('orders') });
  const { id } = await management.get('orders');
  const again = stack('shop', async (event) => {
    const answered = await answer(event);
    if (event.RequestType !== 'Delete') return answered;
    return await answer({ ...event, RequestId: `${event.RequestId}-again` });
  });
  await again.deploy({ Orders: queue('orders'), Broken: BROKEN });
  assert.equal((await management.get('orders')).id, id);
});

test('a key that replaces another one and fails is removed', async (t) => {
  const { stack, management } = await startDeclaring(t, { parameters: new BusyParameters() });
  const shop = stack('shop');
  const Orders = queue('orders');
  await shop.deploy({ Orders, Key: rule('orders', 'old', 'Send') });
  const reason = await shop.deploy({ Orders, Key: rule('orders', 'busy', 'Manage') });
  assert.match(reason ?? '', /too many parameters/);
  assert.deepEqual(await keysOf(management, 'orders'), ['old Send']);
});

test('what a creation that fails could not undo goes with the rollback', async (t) => {
  const parameters = new BusyParameters();
  const { stack, management, declarations, answer } = await startDeclaring(t, { parameters });
  const shop = stack('shop', async (event) => {
    parameters.isStuck = event.RequestType === 'Create';
    return await answer(event);
  });
  await management.create('orders', { kind: 'queue' });
  const reason = await shop.deploy({ Key: rule('orders', 'busy', 'Manage') });
  assert.match(reason ?? '', /too many parameters.*could not be undone.*cannot be reached/s);
  assert.deepEqual(await keysOf(management, 'orders'), []);
  const { state } = (await declarations.read('orders/$authorizationrules/busy')) ?? {};
  assert.equal(state, 'ended');
});

test('a key that has moved in a deployment that fails has its former rights again', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const before = { Orders: queue('orders'), Key: rule('orders', 'k', 'Send') };
  await shop.deploy(before);
  for (const rights of [['Manage'], ['Listen']]) {
    const { Orders } = before;
    const moved = { Orders, Moved: rule('orders', 'k', ...rights), Broken: BROKEN };
    assert.match((await shop.deploy(moved)) ?? '', /nowhere/);
    assert.deepEqual(await keysOf(management, 'orders'), ['k Send']);
  }
});

test('a subscription whose last declared rule goes has the default rule again', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const Events = topic('events');
  const ruled = subscription('events/Subscriptions/audit', { rules: { a: 'a = 1', b: 'b = 1' } });
  const unruled = subscription('events/Subscriptions/audit');
  const names = async () => {
    const { items } = await management.rules.list('events/Subscriptions/audit', {
      skip: 0,
      top: 10,
    });
    return items.map(({ stored }) => stored.rule.name);
  };
  await shop.deploy({ Events, Audit: ruled });
  const broken = { Events, Audit: unruled, Broken: BROKEN };
  assert.match((await shop.deploy(broken)) ?? '', /nowhere/);
  assert.deepEqual(await names(), ['a', 'b']);
  assert.equal(await shop.deploy({ Events, Audit: unruled }), undefined);
  assert.deepEqual(await names(), ['$Default']);
  // Rules that programs make stay where the stack has never declared any.
  await management.rules.create('events/Subscriptions/audit', {
    name: 'hand',
    filter: { kind: 'true' },
  });
  const other = subscription('events/Subscriptions/audit', { maxDeliveryCount: 3 });
  assert.equal(await shop.deploy({ Events, Audit: other }), undefined);
  assert.deepEqual(await names(), ['$Default', 'hand']);
});

/** Parameters of which one cannot be written. */
class BusyParameters extends FakeParameters {
  isStuck = false;

  override async put(...[of, text]: Parameters<FakeParameters['put']>): Promise<void> {
    if (of.keyName === 'busy') throw serviceBusy('There are too many parameters.');
    await super.put(of, text);
  }

  override async remove(of: Parameters<FakeParameters['remove']>[0]): Promise<void> {
    if (this.isStuck) throw serviceBusy('Parameters cannot be reached.');
    await super.remove(of);
  }
}

async function keysOf(management: Management, name: string): Promise<readonly string[]> {
  const { description } = await management.get(name);
  assert.ok(description.kind !== 'subscription');
  return description.authorizationRules.map(({ keyName, rights }) =>
    [keyName, ...rights].join(' '),
  );
}
