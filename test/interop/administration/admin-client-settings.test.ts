import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, plain, withAdministration } from './admin-clients.ts';

const KEY_1 = 'A'.repeat(43).concat('=');
const KEY_2 = 'B'.repeat(43).concat('=');

const RULES = [
  {
    claimType: 'SharedAccessKey',
    keyName: 'all',
    accessRights: ['Manage' as const, 'Send' as const, 'Listen' as const],
    primaryKey: KEY_1,
    secondaryKey: KEY_2,
  },
  {
    claimType: 'SharedAccessKey',
    keyName: 'reader <&>',
    accessRights: ['Listen' as const],
    primaryKey: KEY_2,
    secondaryKey: KEY_1,
  },
];

/** No line feed: the clients take it out themselves before they send. */
const METADATA = `owner="billing" & 'co' <tag> äöü € 😀`;

/** Settings that may be changed at any time, once as first given and once as changed. */
const COMMON = {
  first: {
    defaultMessageTimeToLive: 'P2D',
    enableBatchedOperations: false,
    status: 'Disabled' as const,
    userMetadata: METADATA,
    autoDeleteOnIdle: 'PT1H',
  },
  changed: {
    defaultMessageTimeToLive: 'PT1S',
    enableBatchedOperations: true,
    status: 'Active' as const,
    userMetadata: 'm'.repeat(1024),
    autoDeleteOnIdle: 'PT5M',
  },
};

const INGRESS = {
  first: {
    maxSizeInMegabytes: 2048,
    duplicateDetectionHistoryTimeWindow: 'PT2M',
    authorizationRules: RULES,
    maxMessageSizeInKilobytes: 256,
  },
  changed: {
    maxSizeInMegabytes: 5120,
    duplicateDetectionHistoryTimeWindow: 'P7D',
    authorizationRules: RULES.slice(1),
    maxMessageSizeInKilobytes: 256,
  },
};

const DELIVERY = {
  first: { lockDuration: 'PT45S', deadLetteringOnMessageExpiration: true, maxDeliveryCount: 8 },
  changed: {
    lockDuration: 'PT5M',
    deadLetteringOnMessageExpiration: false,
    maxDeliveryCount: 2_147_483_647,
  },
};

withAdministration('every setting', (connected) => {
  test('of a queue is kept, listed and changed', async () => {
    const { client } = connected;
    const fixed = { requiresDuplicateDetection: true, requiresSession: true };
    const first = { ...COMMON.first, ...INGRESS.first, ...DELIVERY.first, ...fixed };
    const shown = {
      name: 'full',
      ...first,
      enablePartitioning: false,
      enableExpress: false,
      availabilityStatus: 'Available',
      forwardTo: undefined,
      forwardDeadLetteredMessagesTo: undefined,
    };
    assert.deepEqual(plain(await client.createQueue('full', first)), shown);
    assert.deepEqual(plain(await client.getQueue('full')), shown);
    assert.deepEqual(await all(client.listQueues()), [shown]);

    const changed = { ...COMMON.changed, ...INGRESS.changed, ...DELIVERY.changed };
    const queue = Object.assign(await client.getQueue('full'), changed);
    assert.deepEqual(plain(await client.updateQueue(queue)), { ...shown, ...changed });
    assert.deepEqual(plain(await client.getQueue('full')), { ...shown, ...changed });
  });

  test('of a topic is kept, listed and changed', async () => {
    const { client } = connected;
    const first = {
      ...COMMON.first,
      ...INGRESS.first,
      requiresDuplicateDetection: true,
      supportOrdering: false,
    };
    const shown = {
      name: 'fullTopic',
      ...first,
      enablePartitioning: false,
      enableExpress: false,
      availabilityStatus: 'Available',
    };
    assert.deepEqual(plain(await client.createTopic('fullTopic', first)), shown);
    assert.deepEqual(plain(await client.getTopic('fullTopic')), shown);
    assert.deepEqual(await all(client.listTopics()), [shown]);

    const changed = { ...COMMON.changed, ...INGRESS.changed, supportOrdering: true };
    const topic = Object.assign(await client.getTopic('fullTopic'), changed);
    assert.deepEqual(plain(await client.updateTopic(topic)), { ...shown, ...changed });
    assert.deepEqual(plain(await client.getTopic('fullTopic')), { ...shown, ...changed });
  });

  test('of a subscription is kept, listed and changed', async () => {
    const { client } = connected;
    await client.createTopic('host');
    const first = {
      ...COMMON.first,
      ...DELIVERY.first,
      requiresSession: true,
      deadLetteringOnFilterEvaluationExceptions: false,
    };
    const shown = {
      topicName: 'host',
      subscriptionName: 'full',
      ...first,
      availabilityStatus: 'Available',
      forwardTo: undefined,
      forwardDeadLetteredMessagesTo: undefined,
    };
    assert.deepEqual(plain(await client.createSubscription('host', 'full', first)), shown);
    assert.deepEqual(plain(await client.getSubscription('host', 'full')), shown);
    assert.deepEqual(await all(client.listSubscriptions('host')), [shown]);

    const changed = {
      ...COMMON.changed,
      ...DELIVERY.changed,
      deadLetteringOnFilterEvaluationExceptions: true,
    };
    const subscription = Object.assign(await client.getSubscription('host', 'full'), changed);
    assert.deepEqual(plain(await client.updateSubscription(subscription)), {
      ...shown,
      ...changed,
    });
    assert.deepEqual(plain(await client.getSubscription('host', 'full')), { ...shown, ...changed });
  });

  test('each status that users may set is kept', async () => {
    const { client } = connected;
    for (const status of ['Disabled', 'SendDisabled', 'ReceiveDisabled', 'Active'] as const) {
      await client.createQueue(`queue-${status}`, { status });
      assert.equal((await client.getQueue(`queue-${status}`)).status, status);
    }
  });

  test('a partitioned entity shows the size of its sixteen fragments, and takes it back', async () => {
    const { client } = connected;
    const queue = await client.createQueue('parts', { enablePartitioning: true });
    assert.equal(queue.maxSizeInMegabytes, 16_384);
    const same = await client.updateQueue(queue);
    assert.equal(same.maxSizeInMegabytes, 16_384);
    assert.equal(same.enablePartitioning, true);
    const topic = await client.createTopic('partsTopic', {
      enablePartitioning: true,
      maxSizeInMegabytes: 5120,
    });
    assert.equal(topic.maxSizeInMegabytes, 81_920);
    assert.equal((await client.updateTopic(topic)).maxSizeInMegabytes, 81_920);
  });

  test('an express queue and topic are remembered as such', async () => {
    const { client } = connected;
    assert.equal((await client.createQueue('fast', { enableExpress: true })).enableExpress, true);
    assert.equal((await client.createTopic('fastT', { enableExpress: true })).enableExpress, true);
    assert.equal((await client.updateQueue(await client.getQueue('fast'))).enableExpress, true);
  });
});

const sizes: Parameters<typeof withAdministration>[1] = (connected) => {
  test('is kept, and changed', async () => {
    const { client } = connected;
    const kilobytes = (maxMessageSizeInKilobytes: number) => ({ maxMessageSizeInKilobytes });
    await client.createQueue('large', kilobytes(2048));
    const queue = await client.getQueue('large');
    assert.equal(queue.maxMessageSizeInKilobytes, 2048);
    await client.updateQueue({ ...queue, ...kilobytes(102_400) });
    assert.equal((await client.getQueue('large')).maxMessageSizeInKilobytes, 102_400);
    await client.createTopic('largeTopic', kilobytes(1024));
    const topic = await client.getTopic('largeTopic');
    assert.equal(topic.maxMessageSizeInKilobytes, 1024);
  });
};
withAdministration('the size of messages', sizes, { tier: 'Premium' });

withAdministration('forwarding', (connected) => {
  test('is shown as an address in this namespace, and is taken back as such', async () => {
    const { client } = connected;
    await client.createQueue('Sink');
    const queue = await client.createQueue('source', {
      forwardTo: 'Sink',
      forwardDeadLetteredMessagesTo: 'Sink',
      autoDeleteOnIdle: 'PT1H',
    });
    assert.match(queue.forwardTo ?? '', /^sb:\/\/localhost:\d+\/Sink$/);
    assert.equal(queue.forwardDeadLetteredMessagesTo, queue.forwardTo);
    // A forwarding entity is never idle.
    assert.equal(queue.autoDeleteOnIdle, 'P10675199DT2H48M5.4775807S');
    assert.equal((await client.updateQueue(queue)).forwardTo, queue.forwardTo);

    await client.createTopic('from');
    const subscription = await client.createSubscription('from', 's', { forwardTo: 'Sink' });
    assert.equal(subscription.forwardTo, queue.forwardTo);
    assert.equal((await client.getSubscription('from', 's')).forwardTo, queue.forwardTo);
  });

  test('can be taken away again', async () => {
    const { client } = connected;
    await client.createQueue('there');
    const queue = await client.createQueue('undecided', { forwardTo: 'there' });
    const { forwardTo: _, ...rest } = queue;
    assert.equal((await client.updateQueue(rest as typeof queue)).forwardTo, undefined);
    assert.equal((await client.getQueue('undecided')).forwardTo, undefined);
  });
});
