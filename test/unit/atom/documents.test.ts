import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, shown, startAtom } from '../../support/atom-client.ts';

const UNLIMITED = 'P10675199DT2H48M5.4775807S';

/** Name and text of each element, in the order of the service's data contract (semantics G12). */
const QUEUE: readonly (readonly [string, string | RegExp])[] = [
  ['LockDuration', 'PT1M'],
  ['MaxSizeInMegabytes', '1024'],
  ['RequiresDuplicateDetection', 'false'],
  ['RequiresSession', 'false'],
  ['DefaultMessageTimeToLive', UNLIMITED],
  ['DeadLetteringOnMessageExpiration', 'false'],
  ['DuplicateDetectionHistoryTimeWindow', 'PT10M'],
  ['MaxDeliveryCount', '10'],
  ['EnableBatchedOperations', 'true'],
  ['SizeInBytes', '0'],
  ['MessageCount', '0'],
  ['IsAnonymousAccessible', 'false'],
  ['AuthorizationRules', ''],
  ['Status', 'Active'],
  ['CreatedAt', /^20..-..-..T..:..:..\....Z$/],
  ['UpdatedAt', /^20..-..-..T..:..:..\....Z$/],
  ['AccessedAt', '0001-01-01T00:00:00Z'],
  ['SupportOrdering', 'true'],
  ['CountDetails', ''],
  ['AutoDeleteOnIdle', UNLIMITED],
  ['EnablePartitioning', 'false'],
  ['EntityAvailabilityStatus', 'Available'],
  ['EnableExpress', 'false'],
  ['MaxMessageSizeInKilobytes', '256'],
];

const TOPIC: typeof QUEUE = [
  ['DefaultMessageTimeToLive', UNLIMITED],
  ['MaxSizeInMegabytes', '1024'],
  ['RequiresDuplicateDetection', 'false'],
  ['DuplicateDetectionHistoryTimeWindow', 'PT10M'],
  ['EnableBatchedOperations', 'true'],
  ['SizeInBytes', '0'],
  ['FilteringMessagesBeforePublishing', 'false'],
  ['IsAnonymousAccessible', 'false'],
  ['AuthorizationRules', ''],
  ['Status', 'Active'],
  ['CreatedAt', /^20/],
  ['UpdatedAt', /^20/],
  ['AccessedAt', '0001-01-01T00:00:00Z'],
  ['SupportOrdering', 'true'],
  ['CountDetails', ''],
  ['SubscriptionCount', '0'],
  ['AutoDeleteOnIdle', UNLIMITED],
  ['EnablePartitioning', 'false'],
  ['IsExpress', 'false'],
  ['EntityAvailabilityStatus', 'Available'],
  ['EnableSubscriptionPartitioning', 'false'],
  ['EnableExpress', 'false'],
  ['MaxMessageSizeInKilobytes', '256'],
];

const SUBSCRIPTION: typeof QUEUE = [
  ['LockDuration', 'PT1M'],
  ['RequiresSession', 'false'],
  ['DefaultMessageTimeToLive', UNLIMITED],
  ['DeadLetteringOnMessageExpiration', 'false'],
  ['DeadLetteringOnFilterEvaluationExceptions', 'true'],
  ['MessageCount', '0'],
  ['MaxDeliveryCount', '10'],
  ['EnableBatchedOperations', 'true'],
  ['Status', 'Active'],
  ['CreatedAt', /^20/],
  ['UpdatedAt', /^20/],
  ['AccessedAt', '0001-01-01T00:00:00Z'],
  ['CountDetails', ''],
  ['AutoDeleteOnIdle', UNLIMITED],
  ['EntityAvailabilityStatus', 'Available'],
];

const KINDS = [
  { description: 'QueueDescription', path: '/q', expected: QUEUE },
  { description: 'TopicDescription', path: '/t', expected: TOPIC },
  { description: 'SubscriptionDescription', path: '/host/Subscriptions/s', expected: SUBSCRIPTION },
] as const;

for (const { description, path, expected } of KINDS) {
  test(`a new ${description} has every element with its default, in order, in every response`, async () => {
    const { call } = startAtom();
    await call('PUT', '/host', { body: entry('TopicDescription') });
    const created = await call('PUT', path, { body: entry(description) });
    const updated = await call('PUT', path, { body: entry(description), ifMatch: '*' });
    const read = await call('GET', path);
    assert.deepEqual([created.status, updated.status, read.status], [201, 200, 200]);
    for (const { text } of [created, updated, read]) {
      const elements = Object.entries(shown(text));
      assert.deepEqual(
        elements.map(([name]) => name),
        expected.map(([name]) => name),
      );
      elements.forEach(([name, value], i) => {
        const wanted = expected[i]?.[1] ?? '';
        if (typeof wanted === 'string') assert.equal(value, wanted, name);
        else assert.match(value, wanted, name);
      });
    }
  });
}

const DESCRIPTION = /<QueueDescription.*?<\/QueueDescription>/gs;

/** Each setting: the element sent, and the element returned where it differs. */
const SETTINGS: Readonly<Record<string, readonly [sent: string, shown?: string]>> = {
  LockDuration: ['PT30S'],
  MaxSizeInMegabytes: ['2048'],
  DefaultMessageTimeToLive: ['P14D'],
  DeadLetteringOnMessageExpiration: ['true'],
  DuplicateDetectionHistoryTimeWindow: ['PT2H', 'PT2H'],
  MaxDeliveryCount: ['+7', '7'],
  EnableBatchedOperations: ['0', 'false'],
  IsAnonymousAccessible: ['true'],
  Status: [' SendDisabled\n', 'SendDisabled'],
  ForwardTo: ['sb://anywhere.example/dir%2FSink/', 'sb://localhost:5300/dir/Sink'],
  UserMetadata: [' a\n&lt;b&gt; ', ' a\n<b> '],
  SupportOrdering: ['false'],
  AutoDeleteOnIdle: ['P1DT30M'],
  ForwardDeadLetteredMessagesTo: ['DIR/sink', 'sb://localhost:5300/DIR/sink'],
  MaxMessageSizeInKilobytes: ['1024'],
};

for (const [name, [sent, wanted = sent]] of Object.entries(SETTINGS)) {
  test(`${name} is kept by a creation, a list and an update, and takes its default when omitted`, async () => {
    const { call } = startAtom();
    await call('PUT', '/dir/Sink', { body: entry('QueueDescription') });
    const body = entry('QueueDescription', `<${name}>${sent}</${name}>`);
    const created = await call('PUT', '/q', { body });
    assert.equal(shown(created.text)[name], wanted);
    assert.equal(shown((await call('GET', '/q')).text)[name], wanted);
    const list = await call('GET', '/$Resources/Queues');
    assert.equal(list.text.match(DESCRIPTION)?.[1], created.text.match(DESCRIPTION)?.[0]);

    const plain = { body: entry('QueueDescription'), ifMatch: '*' };
    const before = QUEUE.find(([one]) => one === name)?.[1];
    assert.equal(shown((await call('PUT', '/q', plain)).text)[name], before);
    assert.equal(shown((await call('PUT', '/q', { body, ifMatch: '*' })).text)[name], wanted);
    assert.equal(shown((await call('GET', '/q')).text)[name], wanted);
  });
}

test('settings that only a topic or a subscription has are kept as well', async () => {
  const { call } = startAtom();
  const topic = `<EnableSubscriptionPartitioning>true</EnableSubscriptionPartitioning><FilteringMessagesBeforePublishing>true</FilteringMessagesBeforePublishing>`;
  await call('PUT', '/t', { body: entry('TopicDescription', topic) });
  const shownTopic = shown((await call('GET', '/t')).text);
  assert.equal(shownTopic['FilteringMessagesBeforePublishing'], 'true');
  assert.equal(shownTopic['EnableSubscriptionPartitioning'], 'true');
  const inner = `<DeadLetteringOnFilterEvaluationExceptions>false</DeadLetteringOnFilterEvaluationExceptions>`;
  await call('PUT', '/t/Subscriptions/s', { body: entry('SubscriptionDescription', inner) });
  const subscription = shown((await call('GET', '/t/subscriptions/s')).text);
  assert.equal(subscription['DeadLetteringOnFilterEvaluationExceptions'], 'false');
});

test('an entry whose counts are extrapolated says so in a category, others do not', async () => {
  const { call, dependencies } = startAtom();
  await call('PUT', '/q', { body: entry('QueueDescription') });
  const category = /<category scheme="urn:dynabus:counts" term="estimated"/;
  assert.doesNotMatch((await call('GET', '/q')).text, category);
  const counts = {
    active: 100_000,
    deferred: 0,
    deadLetter: 0,
    scheduled: 0,
    transfer: 0,
    transferDeadLetter: 0,
  };
  dependencies.counts.messagesByKey.set('q', { ...counts, size: 4096, isEstimate: true });
  assert.match((await call('GET', '/q')).text, category);
  assert.match((await call('GET', '/$Resources/Queues')).text, category);
});

test('#155 a description has the message count of every state, and their sum', async () => {
  const { call, dependencies } = startAtom();
  await call('PUT', '/q', { body: entry('QueueDescription') });
  dependencies.counts.messagesByKey.set('q', {
    size: 4096,
    active: 1,
    deferred: 0,
    deadLetter: 2,
    scheduled: 3,
    transfer: 4,
    transferDeadLetter: 5,
    isEstimate: false,
    accessedAt: 86_400_000,
  });
  const { text } = await call('GET', '/q');
  const { SizeInBytes, MessageCount, AccessedAt } = shown(text);
  assert.deepEqual(
    { SizeInBytes, MessageCount, AccessedAt },
    {
      SizeInBytes: '4096',
      MessageCount: '15',
      AccessedAt: '1970-01-02T00:00:00.000Z',
    },
  );
  assert.ok(
    text.includes(
      '<CountDetails xmlns:d2p1="http://schemas.microsoft.com/netservices/2011/06/servicebus"><d2p1:ActiveMessageCount>1</d2p1:ActiveMessageCount><d2p1:DeadLetterMessageCount>2</d2p1:DeadLetterMessageCount><d2p1:ScheduledMessageCount>3</d2p1:ScheduledMessageCount><d2p1:TransferMessageCount>4</d2p1:TransferMessageCount><d2p1:TransferDeadLetterMessageCount>5</d2p1:TransferDeadLetterMessageCount></CountDetails>',
    ),
  );
});

test('authorization rules are returned with all their elements', async () => {
  const { call } = startAtom();
  const keys = `<PrimaryKey>${'A'.repeat(44)}</PrimaryKey><SecondaryKey>${'B'.repeat(44)}</SecondaryKey>`;
  const rule = `<AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><ClaimType>SharedAccessKey</ClaimType><Rights><AccessRights>Send</AccessRights></Rights><KeyName>app</KeyName>${keys}</AuthorizationRule></AuthorizationRules>`;
  const { text } = await call('PUT', '/q', { body: entry('QueueDescription', rule) });
  const time = '[-0-9T:.]+Z';
  assert.match(
    text,
    new RegExp(
      `<AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights><AccessRights>Send</AccessRights></Rights><CreatedTime>${time}</CreatedTime><ModifiedTime>${time}</ModifiedTime><KeyName>app</KeyName>${keys}</AuthorizationRule></AuthorizationRules>`,
    ),
  );
});
