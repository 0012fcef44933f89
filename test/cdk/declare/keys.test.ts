import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { parseConnectionString } from '../../../shared/auth/connection-string.ts';
import type { Management } from '../../../shared/broker/management/management.ts';
import { hookedClient } from '../../support/hooked-client.ts';
import { startDeclaring } from './declaring.ts';
import { queue, rule, subscription, topic } from './stack.ts';

test('a declared rule has a key in a parameter, keeps it in updates, and takes it along', async (t) => {
  const { stack, management, parameters } = await startDeclaring(t);
  const shop = stack('shop');
  const Orders = queue('Orders');
  assert.equal(await shop.deploy({ Orders, Sender: rule('Orders', 'sender', 'Send') }), undefined);
  const [created] = await rulesOf(management, 'orders');
  const text = parameters.values.get('/orders/sender') ?? '';
  assert.deepEqual(parseConnectionString(text), {
    host: 'abc.execute-api.eu-west-1.amazonaws.com',
    keyName: 'sender',
    key: created?.primaryKey,
    entityPath: 'Orders',
    isLocal: false,
  });

  const both = { Orders, Sender: rule('Orders', 'sender', 'Send', 'Listen') };
  assert.equal(await shop.deploy(both), undefined);
  const [updated] = await rulesOf(management, 'orders');
  assert.deepEqual(updated?.rights, ['Send', 'Listen']);
  assert.equal(updated?.primaryKey, created?.primaryKey);
  assert.equal(parameters.values.get('/orders/sender'), text);

  assert.equal(await shop.deploy({ Orders }), undefined);
  assert.deepEqual(await rulesOf(management, 'orders'), []);
  assert.equal(parameters.values.size, 0);
});

test('an event that changes nothing does not end the locks on messages', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Orders: queue('orders'), Sender: rule('orders', 'sender', 'Manage') });
  const { epoch } = await management.get('orders');
  await shop.deploy({
    Orders: queue('orders', {}, { Other: 1 }),
    Sender: rule('orders', 'sender', 'Manage', 'Send'),
  });
  assert.equal((await management.get('orders')).epoch, epoch);
});

test('rules of one queue that are declared at once are all made', async (t) => {
  const { stack, management } = await startDeclaring(t);
  await stack('shop').deploy({ Orders: queue('orders') });
  const reasons = await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      stack(`stack-${i}`).deploy({ Key: rule('orders', `rule-${i}`, 'Listen') }),
    ),
  );
  assert.deepEqual(
    reasons,
    reasons.map(() => undefined),
  );
  assert.equal((await rulesOf(management, 'orders')).length, 6);
});

test('an update of a queue keeps the rules that were declared', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const Sender = rule('orders', 'sender', 'Send');
  await shop.deploy({ Orders: queue('orders'), Sender });
  assert.equal(
    await shop.deploy({ Orders: queue('orders', { maxDeliveryCount: 3 }), Sender }),
    undefined,
  );
  assert.equal((await rulesOf(management, 'orders')).length, 1);
});

test('an update of a queue keeps a rule that another stack declares at any moment of it', async (t) => {
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const others = await startDeclaring(t, { namespace });
  let requestsLeft = 0;
  let happens: (() => Promise<unknown>) | undefined;
  const client = hookedClient(async () => {
    if (--requestsLeft === 0) await happens?.();
  });
  t.after(() => client.destroy());
  const { stack, management } = await startDeclaring(t, { namespace, client });
  const shop = stack('shop');
  let moments = 0;
  for (let isInTime = true; isInTime; moments++) {
    await shop.deploy({ Orders: queue('orders') });
    isInTime = false;
    requestsLeft = moments + 1;
    happens = async () => {
      isInTime = true;
      const reason = await others.stack('other').deploy({ Key: rule('orders', 'key', 'Listen') });
      assert.equal(reason, undefined);
    };
    const changed = { Orders: queue('orders', { maxDeliveryCount: 3 }) };
    assert.equal(await shop.deploy(changed), undefined);
    happens = undefined;
    const { description } = await management.get('orders');
    assert.ok(description.kind === 'queue');
    assert.equal(description.maxDeliveryCount, 3);
    assert.equal(description.authorizationRules.length, isInTime ? 1 : 0);
    await shop.delete();
  }
  assert.ok(moments > 5, `${moments} moments`);
});

test('a rule without a queue or topic, or with wrong properties, is refused', async (t) => {
  const { stack } = await startDeclaring(t);
  await stack('shop').deploy({
    Events: topic('events'),
    Audit: subscription('events/Subscriptions/audit'),
  });
  const wrong = {
    'could not be found': rule('nowhere', 'sender', 'Send'),
    'A subscription has no authorization rules': rule('events/Subscriptions/audit', 'a', 'Send'),
    'Rights must be a list': rule('events', 'a'),
    'Rights must be a list of Manage': rule('events', 'a', 'Root'),
    'KeyName must be': rule('events', 'a/b', 'Send'),
  };
  for (const [words, Key] of Object.entries(wrong)) {
    assert.match((await stack('other').deploy({ Key })) ?? '', new RegExp(words));
  }
});

async function rulesOf(management: Management, name: string) {
  const { description } = await management.get(name);
  assert.ok(description.kind !== 'subscription');
  return description.authorizationRules;
}
