import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { administrationOf } from '../interop/administration/admin-clients.ts';
import { type LocalNamespaces, startLocalNamespaces } from './local-namespaces.ts';

const HOUR_S = 3600;
const ENTITY_KEY = 'k'.repeat(44);
const LISTENER = { keyName: 'listenOnly', primaryKey: ENTITY_KEY, rights: ['Listen'] };

/** Entities of all kinds, in the form that the tests' configurations have. */
const DECLARED = [
  ['dead', { kind: 'queue', maxDeliveryCount: 1 }],
  [
    'Orders',
    {
      kind: 'queue',
      lockDurationMs: 30_000,
      requiresDuplicateDetection: true,
      forwardDeadLetteredMessagesTo: 'dead',
      authorizationRules: [LISTENER],
    },
  ],
  ['sessions', { kind: 'queue', requiresSession: true }],
  ['wide', { kind: 'queue', enablePartitioning: true }],
  ['topic', { kind: 'topic' }],
  [
    'topic/subscriptions/some',
    { kind: 'subscription', defaultRule: { name: 'r', filter: { kind: 'false' } } },
  ],
  ['topic/subscriptions/all', { kind: 'subscription' }],
] as const;

describe('POST /$reset and PUT /$config', () => {
  let local: LocalNamespaces;
  before(async () => {
    local = await startLocalNamespaces();
  });
  after(() => local.server.stop());

  const configured = async () => {
    const client = local.fresh();
    const { status, json } = await client.control('PUT', '$config', DECLARED);
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(json.name, client.name);
    return { client, admin: administrationOf(client.connectionString()) };
  };

  test('without a configuration, a reset deletes all entities', async () => {
    const client = local.fresh();
    for (const name of ['a', 'b']) await client.createQueue(name);
    await client.advance(HOUR_S);
    await client.reset();
    for (const name of ['a', 'b']) assert.equal((await client.request('GET', name)).status, 404);
    assert.ok((await client.now()) > Date.now() + 3_000_000, 'the clock stays');
    await client.createQueue('a');
    assert.equal(await client.take('a'), undefined);
  });

  test('a reset does nothing to other namespaces', async () => {
    const [one, two] = [local.fresh(), local.fresh()];
    for (const client of [one, two]) {
      await client.createQueue('q');
      await client.send('q', 'kept');
    }
    await one.reset();
    assert.equal(await two.take('q'), 'kept');
  });

  test('messages in all states are gone after a reset', async () => {
    const { client, admin } = await configured();
    const soon = new Date(Date.now() + HOUR_S * 1000).toUTCString();
    for (const name of ['Orders', 'wide']) {
      await client.send(name, 'active');
      await client.send(name, 'scheduled', { ScheduledEnqueueTimeUtc: soon });
      await client.send(name, 'expires', { TimeToLive: 1 });
      await client.send(name, 'locked');
    }
    await client.send('topic', 'copied');
    await client.send('sessions', 'in a session', { SessionId: 's' });
    await client.lock('Orders');
    await client.send('dead', 'dead-lettered');
    for (const count of [1, undefined]) {
      assert.equal(await client.lock('dead'), count);
      await client.advance(120);
    }
    const counted = await admin.getQueueRuntimeProperties('dead');
    assert.equal(counted.deadLetterMessageCount, 1);
    await client.reset();
    await client.advance(2 * HOUR_S);
    for (const name of ['Orders', 'wide', 'dead', 'sessions']) {
      const { totalMessageCount } = await admin.getQueueRuntimeProperties(name);
      assert.equal(totalMessageCount, 0, name);
    }
    const { totalMessageCount } = await admin.getSubscriptionRuntimeProperties('topic', 'all');
    assert.equal(totalMessageCount, 0);
    assert.equal(await client.take('Orders'), undefined);
    assert.equal(await client.take('dead/$DeadLetterQueue'), undefined);
  });

  test('the memory of duplicates is gone after a reset', async () => {
    const { client } = await configured();
    await client.send('Orders', 'first', { MessageId: 'm' });
    await client.send('Orders', 'duplicate', { MessageId: 'm' });
    assert.equal(await client.take('Orders'), 'first');
    assert.equal(await client.take('Orders'), undefined);
    await client.reset();
    await client.send('Orders', 'again', { MessageId: 'm' });
    assert.equal(await client.take('Orders'), 'again');
  });

  test('declared entities get their settings, rules and keys back, and others are deleted', async () => {
    const { client, admin } = await configured();
    const before = await snapshot(admin);
    await client.createQueue('undeclared');
    await admin.createSubscription('topic', 'undeclared');
    await admin.deleteRule('topic', 'some', 'r');
    await admin.createRule('topic', 'all', 'more', { sqlExpression: '1 = 1' });
    const { lockDuration: _, ...orders } = await admin.getQueue('Orders');
    await admin.updateQueue({ ...orders, lockDuration: 'PT5M', authorizationRules: [] });
    await admin.deleteQueue('dead');
    await admin.deleteSubscription('topic', 'all');
    await client.reset();
    assert.deepEqual(await snapshot(admin), before);
    assert.equal(await admin.queueExists('undeclared'), false);
    assert.equal(await admin.subscriptionExists('topic', 'undeclared'), false);
    const listen = { rule: 'listenOnly', key: ENTITY_KEY };
    const take = await client.request('DELETE', 'Orders/messages/head?timeout=0', listen);
    assert.equal(take.status, 204);
    await client.send('topic', 'once');
    assert.equal(await client.take('topic/subscriptions/all'), 'once');
    assert.equal(await client.take('topic/subscriptions/all'), undefined);
    assert.equal(await client.take('topic/subscriptions/some'), undefined);
  });

  test('a deleted topic comes back with its subscriptions, and a queue in its place goes', async () => {
    const { client, admin } = await configured();
    await admin.deleteTopic('topic');
    await client.createQueue('topic');
    await client.reset();
    const { subscriptionCount } = await admin.getTopicRuntimeProperties('topic');
    assert.equal(subscriptionCount, 2);
    const topics = [];
    for await (const { name } of admin.listTopics()) topics.push(name);
    assert.deepEqual(topics, ['topic']);
  });

  test('no send that runs during a reset is refused', async () => {
    const { client } = await configured();
    let isOver = false;
    const sending = Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; !isOver; n++) await client.send('wide', `${i}.${n}`);
    });
    for (let resets = 0; resets < 5; resets++) await client.reset();
    isOver = true;
    await Promise.all(sending);
    assert.deepEqual(local.faults, []);
  });

  test('no send to a topic that forwards is refused during a reset', async () => {
    const client = local.fresh();
    const { status } = await client.control('PUT', '$config', [
      ['q', { kind: 'queue' }],
      ['t', { kind: 'topic' }],
      ['t/subscriptions/f', { kind: 'subscription', forwardTo: 'q' }],
    ]);
    assert.equal(status, 200);
    let isOver = false;
    const sending = Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; !isOver; n++) await client.send('t', `${i}.${n}`);
    });
    const resetting = (async () => {
      for (let resets = 0; resets < 20; resets++) await client.reset();
      isOver = true;
    })();
    await Promise.all([resetting, ...sending]);
    assert.deepEqual(local.faults, []);
  });

  test('a configuration that is refused is told, and one that is no JSON', async () => {
    const client = local.fresh();
    const refused = await client.control('PUT', '$config', { queues: 1 });
    assert.deepEqual(refused, {
      status: 400,
      json: { error: 'The configuration must be a list.' },
    });
    const headers = { 'Content-Type': 'application/json' };
    const broken = await client.request('PUT', '$config', { body: '{', headers });
    assert.deepEqual(
      [broken.status, await broken.text()],
      [400, '{"error":"The body is not JSON."}'],
    );
    const again = [['q', { kind: 'queue' }]];
    assert.equal((await client.control('PUT', '$config', again)).status, 200);
    const { status, json } = await client.control('PUT', '$config', again);
    assert.equal(status, 409);
    assert.match(json.error, /'q' already exists/);
  });

  test('resets at the same time are made one after the other', async () => {
    const { client, admin } = await configured();
    const before = await snapshot(admin);
    await Promise.all([client.reset(), client.reset(), client.reset()]);
    assert.deepEqual(await snapshot(admin), before);
  });
});

/** Settings and rules, without what each creation makes anew. */
async function snapshot(admin: ReturnType<typeof administrationOf>) {
  const queues = [];
  for await (const { authorizationRules, ...queue } of admin.listQueues()) {
    const rules = authorizationRules?.map(({ keyName, accessRights, primaryKey }) => {
      return { keyName, accessRights, primaryKey };
    });
    queues.push({ ...queue, rules });
  }
  const subscriptions = [];
  for await (const subscription of admin.listSubscriptions('topic')) {
    const rules = [];
    for await (const { name, filter } of admin.listRules('topic', subscription.subscriptionName)) {
      rules.push({ name, filter });
    }
    subscriptions.push({ ...subscription, rules });
  }
  return { queues, subscriptions };
}
