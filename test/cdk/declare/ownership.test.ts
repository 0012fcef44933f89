import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Management } from '../../../shared/broker/management/management.ts';
import { startDeclaring } from './declaring.ts';
import { queue, rule } from './stack.ts';

test('a stack refuses an entity that exists, and its rollback leaves it alone', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await management.create('orders', { kind: 'queue' });
  const { id } = await management.get('orders');
  const reason = await stack('shop').deploy({ Orders: queue('orders') });
  assert.match(reason ?? '', /There is a queue 'orders' already.*set adopt/);
  assert.equal((await management.get('orders')).id, id);
});

test('a stack takes over an entity that exists if it shall, with its messages', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await management.create('orders', { kind: 'queue', lockMs: 30_000 });
  const { id } = await management.get('orders');
  const shop = stack('shop');
  const adopted = queue('orders', { maxDeliveryCount: 3 }, { Adopt: 'true' });
  assert.equal(await shop.deploy({ Orders: adopted }), undefined);
  const { id: now, description } = await management.get('orders');
  assert.equal(now, id);
  assert.ok(description.kind === 'queue');
  assert.deepEqual([description.lockMs, description.maxDeliveryCount], [60_000, 3]);
  // It has not made it, and a deployment that fails ends in the same way.
  await shop.delete();
  assert.equal((await management.get('orders')).id, id);
  assert.equal(await stack('other').deploy({ Orders: adopted }), undefined);
});

test('a deployment that fails gives back what it has taken over', async (t) => {
  const { stack, management, parameters } = await startDeclaring(t);
  await management.create('old', { kind: 'queue' });
  const shop = stack('shop');
  const before = { Orders: queue('orders'), Key: rule('orders', 'sender', 'Send') };
  await shop.deploy(before);
  const [text] = parameters.values.values();
  const ids = [(await management.get('old')).id, (await management.get('orders')).id];
  const moved = {
    Old: queue('old', {}, { Adopt: 'true' }),
    MovedOrders: queue('orders', {}, { Adopt: 'true' }),
    MovedKey: rule('orders', 'sender', 'Send'),
  };
  const broken = { ...before, ...moved, Broken: queue('broken', { forwardTo: 'nowhere' }) };
  assert.match((await shop.deploy(broken)) ?? '', /nowhere/);
  assert.deepEqual([(await management.get('old')).id, (await management.get('orders')).id], ids);
  assert.deepEqual([...parameters.values.values()], [text]);
  // The former owner has it again, so what moves for good belongs to the new one.
  assert.equal(await shop.deploy(moved), undefined);
  assert.deepEqual([...parameters.values.values()], [text]);
  await shop.delete();
  assert.equal((await management.get('old')).id, ids[0]);
  await assert.rejects(management.get('orders'));
  assert.equal(parameters.values.size, 0);
});

test('no stack changes, adopts or deletes the entity of another one', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const thief = stack('thief');
  await shop.deploy({ Orders: queue('orders') });
  const { id } = await management.get('orders');
  for (const Orders of [queue('orders'), queue('ORDERS', {}, { Adopt: 'true' })]) {
    const reason = await thief.deploy({ Orders });
    assert.match(reason ?? '', /belongs to Orders of the stack shop/);
    await thief.delete();
  }
  // By an update, too: of an entity of its own to the name of the other.
  assert.equal(await thief.deploy({ Mine: queue('mine') }), undefined);
  assert.match((await thief.deploy({ Mine: queue('orders') })) ?? '', /belongs to Orders/);
  await thief.delete();
  assert.equal((await management.get('orders')).id, id);
  assert.equal(await shop.deploy({ Orders: queue('orders', { maxDeliveryCount: 2 }) }), undefined);
});

test('a stack takes over what a stack that is gone has left behind, if it names it', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await stack('old').deploy({ Orders: queue('orders') });
  const { id } = await management.get('orders');
  const shop = stack('shop');
  for (const more of [{ Adopt: 'true' }, { AdoptFrom: 'older' }]) {
    const reason = await shop.deploy({ Orders: queue('orders', {}, more) });
    assert.match(reason ?? '', /belongs to Orders of the stack old:.*set adoptFrom to its name/);
  }
  assert.equal(await shop.deploy({ Orders: queue('orders', {}, { AdoptFrom: 'old' }) }), undefined);
  assert.equal((await management.get('orders')).id, id);
  assert.equal(await shop.deploy({ Orders: queue('orders', { maxDeliveryCount: 2 }) }), undefined);
});

test('a resource that moved within its stack takes its entity over if it shall', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Orders: queue('orders') });
  const { id } = await management.get('orders');
  const moved = await shop.deploy({ Moved: queue('orders') });
  assert.match(moved ?? '', /is declared by Orders of the stack shop too/);
  assert.equal((await management.get('orders')).id, id);
  assert.equal(await shop.deploy({ Moved: queue('orders', {}, { Adopt: 'true' }) }), undefined);
  assert.equal((await management.get('orders')).id, id);
  assert.equal(await shop.deploy({ Moved: queue('orders', { maxDeliveryCount: 2 }) }), undefined);
});

test('a stack of the same name finds what it had left behind', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await stack('shop').deploy({ Orders: queue('orders') });
  const { id } = await management.get('orders');
  // The stack was deleted, and its entities were retained.
  const again = stack('shop');
  assert.equal(await again.deploy({ Orders: queue('orders', { maxDeliveryCount: 2 }) }), undefined);
  assert.equal((await management.get('orders')).id, id);
});

test('a name is free again after what was declared under it was deleted by hand', async (t) => {
  const { stack, management, clock } = await startDeclaring(t);
  const shop = stack('shop');
  const other = stack('other');
  await shop.deploy({ Orders: queue('orders') });
  await management.delete('orders');
  assert.match((await other.deploy({ Orders: queue('orders') })) ?? '', /is being declared by/);
  clock.advance({ minutes: 20 });
  assert.equal(await other.deploy({ Orders: queue('orders') }), undefined);
  // The first stack no longer owns it.
  const { id } = await management.get('orders');
  await shop.delete();
  assert.equal((await management.get('orders')).id, id);
});

test('two stacks that declare the same name at once: one has it', async (t) => {
  const { stack } = await startDeclaring(t);
  const stacks = Array.from({ length: 8 }, (_, i) => stack(`stack-${i}`));
  const reasons = await Promise.all(stacks.map((one) => one.deploy({ Orders: queue('orders') })));
  assert.equal(reasons.filter((reason) => reason === undefined).length, 1);
  for (const reason of reasons) {
    if (reason !== undefined) assert.match(reason, /declar|belongs to/);
  }
});

test('an authorization rule of somebody else is neither changed nor deleted', async (t) => {
  const { stack, management, parameters } = await startDeclaring(t);
  await management.create('orders', {
    kind: 'queue',
    authorizationRules: [{ keyName: 'hand', rights: ['Send'] }],
  });
  const shop = stack('shop');
  assert.equal(await shop.deploy({ Sender: rule('orders', 'sender', 'Send') }), undefined);
  const thief = stack('thief');
  for (const name of ['sender', 'hand']) {
    const reason = await thief.deploy({ Sender: rule('orders', name, 'Manage') });
    assert.match(reason ?? '', /belongs to Sender of the stack shop|no stack has declared it/);
  }
  const { description } = await management.get('orders');
  assert.ok(description.kind === 'queue');
  assert.deepEqual(
    description.authorizationRules.map(({ keyName, rights }) => [keyName, ...rights]),
    [
      ['hand', 'Send'],
      ['sender', 'Send'],
    ],
  );
  assert.deepEqual([...parameters.values.keys()], ['/orders/sender']);
});

test('a queue with the name of a rule is not mixed up with it', async (t) => {
  const { stack, management, parameters } = await startDeclaring(t);
  const shop = stack('shop');
  const X = queue('x');
  assert.equal(await shop.deploy({ X, Key: rule('x', 'y', 'Send') }), undefined);
  const other = stack('other');
  const Queue = queue('x/authorizationrules/y');
  const Key = rule('x/authorizationrules/y', 'k', 'Listen');
  assert.equal(await other.deploy({ Queue, Key }), undefined);
  assert.equal(await other.deploy({ Queue }), undefined);
  assert.deepEqual(await keyNames(management, 'x'), ['y']);
  assert.deepEqual(await keyNames(management, 'x/authorizationrules/y'), []);
  assert.deepEqual([...parameters.values.keys()], ['/x/y']);
});

async function keyNames(management: Management, name: string): Promise<readonly string[]> {
  const { description } = await management.get(name);
  assert.ok(description.kind !== 'subscription');
  return description.authorizationRules.map(({ keyName }) => keyName);
}
