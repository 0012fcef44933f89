import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { all, plain, withAdministration } from './admin-clients.ts';

/** The topics of two pages, or of three. */
const MANY = isMore() ? 205 : 105;

const UNLIMITED = 'P10675199DT2H48M5.4775807S';

const NEW_QUEUE = {
  lockDuration: 'PT1M',
  maxSizeInMegabytes: 1024,
  requiresDuplicateDetection: false,
  requiresSession: false,
  defaultMessageTimeToLive: UNLIMITED,
  deadLetteringOnMessageExpiration: false,
  duplicateDetectionHistoryTimeWindow: 'PT10M',
  maxDeliveryCount: 10,
  enableBatchedOperations: true,
  authorizationRules: undefined,
  status: 'Active',
  forwardTo: undefined,
  userMetadata: undefined,
  autoDeleteOnIdle: UNLIMITED,
  enablePartitioning: false,
  availabilityStatus: 'Available',
  forwardDeadLetteredMessagesTo: undefined,
  enableExpress: false,
  maxMessageSizeInKilobytes: 256,
};

const NEW_TOPIC = {
  defaultMessageTimeToLive: UNLIMITED,
  maxSizeInMegabytes: 1024,
  requiresDuplicateDetection: false,
  duplicateDetectionHistoryTimeWindow: 'PT10M',
  enableBatchedOperations: true,
  authorizationRules: undefined,
  status: 'Active',
  userMetadata: undefined,
  supportOrdering: true,
  autoDeleteOnIdle: UNLIMITED,
  enablePartitioning: false,
  availabilityStatus: 'Available',
  enableExpress: false,
  maxMessageSizeInKilobytes: 256,
};

const NEW_SUBSCRIPTION = {
  lockDuration: 'PT1M',
  requiresSession: false,
  defaultMessageTimeToLive: UNLIMITED,
  deadLetteringOnMessageExpiration: false,
  deadLetteringOnFilterEvaluationExceptions: true,
  maxDeliveryCount: 10,
  enableBatchedOperations: true,
  status: 'Active',
  forwardTo: undefined,
  userMetadata: undefined,
  forwardDeadLetteredMessagesTo: undefined,
  autoDeleteOnIdle: UNLIMITED,
  availabilityStatus: 'Available',
};

const NOTHING = {
  activeMessageCount: 0,
  deadLetterMessageCount: 0,
  transferMessageCount: 0,
  transferDeadLetterMessageCount: 0,
};

withAdministration('the namespace and its lists', (connected) => {
  test('the namespace says who it is', async () => {
    const { name, messagingSku } = await connected.client.getNamespaceProperties();
    assert.ok(name.length > 0);
    assert.equal(messagingSku, 'Standard');
  });

  test('an empty namespace lists nothing', async () => {
    const { client } = connected;
    assert.deepEqual(await all(client.listQueues()), []);
    assert.deepEqual(await all(client.listTopics()), []);
  });

  test('lists come in pages, sorted by name', async () => {
    const { client } = connected;
    for (const name of ['q3', 'q1', 'q2']) await client.createQueue(name);
    const pages: string[][] = [];
    for await (const page of client.listQueues().byPage({ maxPageSize: 2 })) {
      pages.push(page.map((queue) => queue.name));
    }
    assert.deepEqual(pages, [['q1', 'q2'], ['q3']]);
    const [second] = await all(
      client.listQueues().byPage({ continuationToken: '1', maxPageSize: 1 }),
    );
    assert.deepEqual(
      second?.map(({ name }) => name),
      ['q2'],
    );
  });

  test('more entities than one page holds are all listed', async () => {
    const { client } = connected;
    const names = Array.from({ length: MANY }, (_, i) => `many-${String(i).padStart(3, '0')}`);
    await Promise.all(names.map((name) => client.createTopic(name)));
    const listed = await all(client.listTopics());
    assert.deepEqual(
      listed.map(({ name }) => name),
      names,
    );
  });
});

withAdministration('queues', (connected) => {
  test('a queue about which nothing was said has every default, wherever it is read', async () => {
    const { client } = connected;
    const expected = { name: 'plain', ...NEW_QUEUE };
    assert.deepEqual(plain(await client.createQueue('plain')), expected);
    assert.deepEqual(plain(await client.getQueue('plain')), expected);
    assert.deepEqual(await all(client.listQueues()), [expected]);
    assert.deepEqual(plain(await client.updateQueue(await client.getQueue('plain'))), expected);
    assert.deepEqual(plain(await client.getQueue('plain')), expected);
  });

  test('its runtime properties are those of an empty queue', async () => {
    const { client } = connected;
    await client.createQueue('running');
    const { createdAt, modifiedAt, accessedAt, ...counts } = plain(
      await client.getQueueRuntimeProperties('running'),
    );
    const empty = { ...NOTHING, scheduledMessageCount: 0, sizeInBytes: 0, totalMessageCount: 0 };
    assert.deepEqual(counts, { name: 'running', ...empty });
    assert.ok(Math.abs(createdAt.getTime() - Date.now()) < 60_000);
    assert.equal(modifiedAt.getTime(), createdAt.getTime());
    assert.equal(accessedAt.toISOString(), '0001-01-01T00:00:00.000Z');
    const listed = await all(client.listQueuesRuntimeProperties());
    assert.ok(listed.some(({ name }) => name === 'running'));
  });

  test('a queue whose name has slashes and capitals keeps them', async () => {
    const { client } = connected;
    const created = await client.createQueue('Sales/EU/Orders');
    assert.equal(created.name, 'Sales/EU/Orders');
    assert.equal((await client.getQueue('sales/eu/orders')).name, 'Sales/EU/Orders');
    assert.equal(await client.queueExists('SALES/EU/ORDERS'), true);
  });

  test('a deleted queue is gone', async () => {
    const { client } = connected;
    await client.createQueue('doomed');
    assert.equal(await client.queueExists('doomed'), true);
    await client.deleteQueue('doomed');
    assert.equal(await client.queueExists('doomed'), false);
  });
});

withAdministration('topics and subscriptions', (connected) => {
  test('a topic about which nothing was said has every default, wherever it is read', async () => {
    const { client } = connected;
    const expected = { name: 'plain', ...NEW_TOPIC };
    assert.deepEqual(plain(await client.createTopic('plain')), expected);
    assert.deepEqual(plain(await client.getTopic('plain')), expected);
    assert.deepEqual(await all(client.listTopics()), [expected]);
    assert.deepEqual(plain(await client.updateTopic(await client.getTopic('plain'))), expected);
    assert.deepEqual(plain(await client.getTopic('plain')), expected);
  });

  test('a subscription about which nothing was said has every default, wherever it is read', async () => {
    const { client } = connected;
    await client.createTopic('news');
    const expected = { topicName: 'news', subscriptionName: 'Audit', ...NEW_SUBSCRIPTION };
    assert.deepEqual(plain(await client.createSubscription('news', 'Audit')), expected);
    assert.deepEqual(plain(await client.getSubscription('News', 'audit')), expected);
    assert.deepEqual(await all(client.listSubscriptions('news')), [expected]);
    const updated = await client.updateSubscription(await client.getSubscription('news', 'Audit'));
    assert.deepEqual(plain(updated), expected);
    assert.deepEqual(plain(await client.getSubscription('news', 'Audit')), expected);
  });

  test('runtime properties count the subscriptions of a topic', async () => {
    const { client } = connected;
    await client.createTopic('counted');
    await client.createSubscription('counted', 'one');
    await client.createSubscription('counted', 'two');
    const topic = await client.getTopicRuntimeProperties('counted');
    assert.equal(topic.subscriptionCount, 2);
    assert.equal(topic.scheduledMessageCount, 0);
    assert.equal(topic.sizeInBytes, 0);
    const topics = await all(client.listTopicsRuntimeProperties());
    assert.equal(topics.find(({ name }) => name === 'counted')?.subscriptionCount, 2);

    const one = await client.getSubscriptionRuntimeProperties('counted', 'one');
    assert.equal(one.totalMessageCount, 0);
    assert.equal(one.activeMessageCount, 0);
    const listed = await all(client.listSubscriptionsRuntimeProperties('counted'));
    assert.deepEqual(
      listed.map(({ subscriptionName }) => subscriptionName),
      ['one', 'two'],
    );
  });

  test('a deleted topic takes its subscriptions with it', async () => {
    const { client } = connected;
    await client.createTopic('brief');
    await client.createSubscription('brief', 's1');
    await client.createSubscription('brief', 's2');
    await client.deleteSubscription('brief', 's1');
    assert.equal(await client.subscriptionExists('brief', 's1'), false);
    assert.equal(await client.subscriptionExists('brief', 's2'), true);
    await client.deleteTopic('brief');
    assert.equal(await client.topicExists('brief'), false);
    await client.createTopic('brief');
    assert.equal(await client.subscriptionExists('brief', 's2'), false);
    assert.deepEqual(await all(client.listSubscriptions('brief')), []);
  });

  test('counts that are estimates are read like others', async () => {
    const { client } = connected;
    await client.createTopic('wide');
    // The states of sessions may take room in a topic that no message was sent to, so some of them are looked at.
    for (let i = 0; i < 34; i++) {
      await client.createSubscription('wide', `s${i}`, { requiresSession: true });
    }
    const { subscriptionCount, sizeInBytes } = await client.getTopicRuntimeProperties('wide');
    assert.deepEqual([subscriptionCount, sizeInBytes], [34, 0]);
    const found = (await all(client.listTopicsRuntimeProperties())).find(
      ({ name }) => name === 'wide',
    );
    assert.equal(found?.subscriptionCount, 34);
  });
});
