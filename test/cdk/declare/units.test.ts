import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { UnitMeter } from '../../../shared/storage/dynamodb/capacity-meter.ts';
import { startDeclaring } from './declaring.ts';
import { queue, type Resources, rule, subscription, topic } from './stack.ts';

/** The last queue, topic and so on; those before it do what a namespace or a topic does only once. */
const STEPS: Resources = {
  First: queue('first'),
  Queue: queue('orders'),
  Topic: topic('events'),
  FirstOfTopic: subscription('events/Subscriptions/first'),
  Subscription: subscription('events/Subscriptions/audit'),
  TwoRules: subscription('events/Subscriptions/billing', {
    rules: { large: 'Quantity > 100', small: 'Quantity < 10' },
  }),
  Key: rule('orders', 'sender', 'Send'),
};

/** A stack that deploys and says what that took, in read and write units. */
async function startMetered(t: TestContext) {
  const meter = new UnitMeter();
  const { stack } = await startDeclaring(t, { meter });
  const shop = stack('shop');
  return async (resources: Resources) => {
    meter.take();
    assert.equal(await shop.deploy(resources), undefined);
    const { read, write } = meter.take();
    return { read, write };
  };
}

/** Some of the changes that counted quotas bring are merged, at random, for up to so many units. */
const MERGE_UNITS_MAX = 2;

type Units = Readonly<Record<'read' | 'write', number>>;

function assertAbout(actual: Units | undefined, least: Units, what: string): void {
  assert.ok(actual !== undefined);
  for (const unit of ['read', 'write'] as const) {
    const more = actual[unit] - least[unit];
    const isAbout = more >= 0 && more <= MERGE_UNITS_MAX;
    assert.ok(isAbout, `${what} takes ${actual[unit]} ${unit} units, not ${least[unit]}`);
  }
}

test('what it takes to create, repeat, update and delete what is declared', async (t) => {
  const deploy = await startMetered(t);
  const created: Record<string, Units> = {};
  let resources: Resources = {};
  for (const [id, resource] of Object.entries(STEPS)) {
    resources = { ...resources, [id]: resource };
    created[id] = await deploy(resources);
  }
  const least = {
    Queue: { read: 4, write: 5 },
    Topic: { read: 4, write: 7 },
    Subscription: { read: 8, write: 9 },
    TwoRules: { read: 12, write: 12 },
    Key: { read: 4, write: 3 },
  };
  for (const [id, units] of Object.entries(least)) assertAbout(created[id], units, id);

  const repeated: Record<string, Units> = {};
  for (const [id, { type, properties }] of Object.entries(STEPS)) {
    resources = { ...resources, [id]: { type, properties: { ...properties, Other: '1' } } };
    repeated[id] = await deploy(resources);
  }
  assert.deepEqual(repeated['Queue'], { read: 4, write: 1 });
  assert.deepEqual(repeated['TwoRules'], { read: 11, write: 1 });
  assert.deepEqual(repeated['Key'], { read: 3, write: 1 });

  resources = { ...resources, Queue: queue('orders', { maxDeliveryCount: 3 }) };
  assert.deepEqual(await deploy(resources), { read: 6, write: 3 });
  const { Queue: orders, Key: _, ...left } = resources;
  assert.ok(orders !== undefined);
  assert.deepEqual(await deploy({ ...left, Queue: orders }), { read: 3, write: 3 });
  assertAbout(await deploy(left), { read: 2, write: 7 }, 'a deletion');
});
