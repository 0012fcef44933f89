import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import {
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import {
  newQueue,
  newSubscription,
  newTopic,
  totalMegabytes,
  updateQueue,
  updateSubscription,
  updateTopic,
} from '../../../shared/domain/entities/entity-settings.ts';
import {
  requireForwardingElsewhere,
  requireSessionsMayForward,
} from '../../../shared/domain/entities/forwarding-settings.ts';
import { requireRuleName } from '../../../shared/domain/entities/rule-name.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** Tests that each input is refused with a matching sentence. */
function refuses(rows: readonly (readonly [string, () => unknown, string])[]): void {
  for (const [what, attempt, says] of rows) {
    test(`${what} is refused`, () => {
      assert.throws(attempt, (error: unknown) => {
        assert.ok(error instanceof BrokerError);
        assert.equal(error.code, 'ArgumentError');
        assert.equal(error.subCode, '40000');
        assert.ok(error.message.startsWith(says), error.message);
        return true;
      });
    });
  }
}

test('an omitted setting takes its default', () => {
  assert.deepEqual(newQueue({}), QUEUE_DEFAULTS);
  assert.deepEqual(newTopic({}), TOPIC_DEFAULTS);
  assert.deepEqual(newSubscription({}), SUBSCRIPTION_DEFAULTS);
});

test('#137 an update replaces: every omitted setting takes its default', () => {
  const queue = newQueue({ lockMs: 30 * SECOND, userMetadata: 'x', autoDeleteOnIdleMs: DAY });
  assert.deepEqual(updateQueue(queue, {}), QUEUE_DEFAULTS);
  assert.deepEqual(updateTopic(newTopic({ userMetadata: 'x' }), {}), TOPIC_DEFAULTS);
  const subscription = newSubscription({ maxDeliveryCount: 3, defaultTimeToLiveMs: DAY });
  assert.deepEqual(updateSubscription(subscription, {}), SUBSCRIPTION_DEFAULTS);
});

const ACCEPTED_AT_THE_BOUNDS = [
  { lockMs: 5 * SECOND },
  { lockMs: 5 * MINUTE },
  { defaultTimeToLiveMs: SECOND },
  { autoDeleteOnIdleMs: 5 * MINUTE },
  { duplicateDetectionMs: 20 * SECOND },
  { duplicateDetectionMs: 7 * DAY },
  { maxDeliveryCount: 1 },
  { maxDeliveryCount: 2_147_483_647 },
  { maxMessageSizeInKilobytes: 1 },
  { maxMessageSizeInKilobytes: 102_400 },
  { maxSizeInMegabytes: 1024 },
  { maxSizeInMegabytes: 81_920 },
  { userMetadata: 'm'.repeat(1024) },
] as const;

for (const input of ACCEPTED_AT_THE_BOUNDS) {
  test(`${JSON.stringify(input).slice(0, 60)} is accepted at its bound`, () => {
    assert.deepEqual(newQueue(input), { ...QUEUE_DEFAULTS, ...input });
  });
}

refuses([
  [
    'a lock of 4.999 s',
    () => newQueue({ lockMs: 4999 }),
    "The value 'PT4.999S' of the 'lockDuration' property is below the minimum of 'PT5S'.",
  ],
  [
    'a lock over 5 minutes',
    () => newSubscription({ lockMs: 5 * MINUTE + 1 }),
    "The supplied lock time exceeds the allowed maximum of '5' minutes. It was 'PT5M0.001S'.",
  ],
  [
    'an unlimited lock',
    () => newQueue({ lockMs: Infinity }),
    "The supplied lock time exceeds the allowed maximum of '5' minutes. It was 'P10675199DT2H48M5.4775807S'.",
  ],
  [
    'a time to live of 999 ms',
    () => newTopic({ defaultTimeToLiveMs: 999 }),
    "The value 'PT0.999S' of the 'defaultMessageTimeToLive' property is below the minimum of 'PT1S'.",
  ],
  [
    '#141 idleness of 4 minutes',
    () => newQueue({ autoDeleteOnIdleMs: 4 * MINUTE }),
    "The value 'PT4M' of the 'autoDeleteOnIdle' property is below the minimum of 'PT5M'.",
  ],
  [
    'a duplicate detection history of 19 s',
    () => newTopic({ duplicateDetectionMs: 19 * SECOND }),
    "The value 'PT19S' of the 'duplicateDetectionHistoryTimeWindow' property is below the minimum of 'PT20S'.",
  ],
  [
    'a duplicate detection history of over 7 days',
    () => newQueue({ duplicateDetectionMs: 7 * DAY + SECOND }),
    "The value 'P7DT1S' of the 'duplicateDetectionHistoryTimeWindow' property is above 'P7D'.",
  ],
  [
    '#39 no delivery',
    () => newQueue({ maxDeliveryCount: 0 }),
    "The value '0' of the 'maxDeliveryCount' property is not a whole number from 1 to 2147483647.",
  ],
  [
    'deliveries beyond int32',
    () => newQueue({ maxDeliveryCount: 2_147_483_648 }),
    "The value '2147483648' of the 'maxDeliveryCount' property is not a whole number from 1 to 2147483647.",
  ],
  [
    'messages of 0 KB',
    () => newQueue({ maxMessageSizeInKilobytes: 0 }),
    "The value '0' of the 'maxMessageSizeInKilobytes' property is not a whole number from 1 to 102400.",
  ],
  [
    'messages of over 100 MB',
    () => newTopic({ maxMessageSizeInKilobytes: 102_401 }),
    "The value '102401' of the 'maxMessageSizeInKilobytes' property is not a whole number from 1 to 102400.",
  ],
  [
    'a size between the steps',
    () => newQueue({ maxSizeInMegabytes: 1500 }),
    "The value '1500' of the 'maxSizeInMegabytes' property is not one of 1024, 2048, 3072, 4096, 5120, 10240, 20480, 40960, 81920.",
  ],
  [
    'a size that only an entity without partitions can have',
    () => newQueue({ maxSizeInMegabytes: 10_240, enablePartitioning: true }),
    "The value '10240' of the 'maxSizeInMegabytes' property is not one of 1024, 2048, 3072, 4096, 5120, or 16 times that, as a partitioned Queue needs.",
  ],
  [
    'a UserMetadata of 1025 characters',
    () => newSubscription({ userMetadata: 'm'.repeat(1025) }),
    "The value of the 'userMetadata' property is 1025 characters long; the limit is 1024.",
  ],
  [
    'the status ReceiveDisabled of a topic',
    () => newTopic({ status: 'ReceiveDisabled' }),
    "The value 'ReceiveDisabled' of the 'status' property is not one of Active, Disabled, SendDisabled.",
  ],
  [
    'the status SendDisabled of a subscription',
    () => newSubscription({ status: 'SendDisabled' }),
    "The value 'SendDisabled' of the 'status' property is not one of Active, Disabled, ReceiveDisabled.",
  ],
  [
    'an express entity with duplicate detection',
    () => newTopic({ enableExpress: true, requiresDuplicateDetection: true }),
    "Both DelayedPersistence and RequiresDuplicateDetection property can't be enabled together.",
  ],
]);

const CANNOT_CHANGE = "can't be changed.";
refuses([
  [
    '#139 an update that enables sessions',
    () => updateQueue(newQueue({}), { requiresSession: true }),
    `The value for the 'requiresSession' property of an existing Queue ${CANNOT_CHANGE}`,
  ],
  [
    'an update that omits RequiresSession',
    () => updateSubscription(newSubscription({ requiresSession: true }), {}),
    `The value for the 'requiresSession' property of an existing Subscription ${CANNOT_CHANGE}`,
  ],
  [
    'an update that enables duplicate detection',
    () => updateQueue(newQueue({}), { requiresDuplicateDetection: true }),
    `The value for the 'requiresDuplicateDetection' property of an existing Queue ${CANNOT_CHANGE}`,
  ],
  [
    'an update that makes an entity with duplicate detection express',
    () => {
      const input = { requiresDuplicateDetection: true };
      updateTopic(newTopic(input), { ...input, enableExpress: true });
    },
    "Both DelayedPersistence and RequiresDuplicateDetection property can't be enabled together.",
  ],
  [
    '#139 an update that enables partitioning',
    () => updateQueue(newQueue({}), { enablePartitioning: true }),
    `Partitioning can't be changed for Queue/Topic. It is 'false'; the update says 'true'.`,
  ],
  [
    'an update that omits EnablePartitioning, whatever its size',
    () => updateTopic(newTopic({ enablePartitioning: true }), { maxSizeInMegabytes: 16_384 }),
    `Partitioning can't be changed for Queue/Topic. It is 'true'; the update says 'false'.`,
  ],
  [
    "an update that enables partitioning of a topic's subscriptions",
    () => updateTopic(newTopic({}), { enableSubscriptionPartitioning: true }),
    `The value for the 'enableSubscriptionPartitioning' property of an existing Topic ${CANNOT_CHANGE}`,
  ],
]);

test('#138 a partitioned entity returns sixteen times its size, and accepts that size in an update', () => {
  for (const size of [1024, 2048, 3072, 4096, 5120]) {
    const input = { enablePartitioning: true, maxSizeInMegabytes: size };
    const queue = newQueue(input);
    assert.equal(totalMegabytes(queue), 16 * size);
    const echo = { enablePartitioning: true, maxSizeInMegabytes: totalMegabytes(queue) };
    assert.deepEqual(updateQueue(queue, echo), queue);
  }
  assert.equal(totalMegabytes(newQueue({ enablePartitioning: true })), 16_384);
  assert.equal(totalMegabytes(newQueue({})), 1024);
});

const SESSIONS = { requiresSession: true, forwardTo: 'there' };
const NOT_OUT_OF_SESSIONS = (kind: string) =>
  `The 'forwardTo' property can't be set to 'there' because the ${kind} requires sessions.`;

test('a queue with sessions forwards to a topic from its creation on, recorded by the Python client', () => {
  const queue = newQueue(SESSIONS);
  requireSessionsMayForward(queue, 'topic');
  requireSessionsMayForward(newQueue({ ...SESSIONS, forwardTo: 'THERE' }), 'topic', queue);
  // The same if a queue has taken the topic's name since.
  requireSessionsMayForward(queue, 'queue', queue);
});

refuses([
  [
    'forwarding from a queue with sessions to a queue',
    () => requireSessionsMayForward(newQueue(SESSIONS), 'queue'),
    NOT_OUT_OF_SESSIONS('Queue'),
  ],
  [
    'an update that makes an existing queue with sessions forward',
    () =>
      requireSessionsMayForward(newQueue(SESSIONS), 'topic', newQueue({ requiresSession: true })),
    NOT_OUT_OF_SESSIONS('Queue'),
  ],
  [
    'forwarding from a subscription with sessions',
    () => requireSessionsMayForward(newSubscription(SESSIONS), 'topic'),
    NOT_OUT_OF_SESSIONS('Subscription'),
  ],
]);

test('#143 an entity that forwards is never idle', () => {
  const input = { forwardTo: 'q', autoDeleteOnIdleMs: DAY };
  assert.ok(!('autoDeleteOnIdleMs' in newQueue(input)));
  assert.ok(!('autoDeleteOnIdleMs' in newSubscription(input)));
});

const forwarding = (path: string, forwardTo: string) => () =>
  requireForwardingElsewhere(parseEntityPath(path), newSubscription({ forwardTo }));

refuses([
  [
    'forwarding from a subscription to its own topic',
    forwarding('T/Subscriptions/s', 't'),
    'Entity cannot have auto-forwarding policy to itself.',
  ],
  ['forwarding to an empty name', forwarding('q', ''), "The name '' is not valid"],
]);

refuses([
  ['a rule without a name', () => requireRuleName(''), "The name '' is not valid"],
  ['a rule name with a slash', () => requireRuleName('a/b'), "The name 'a/b' is not valid"],
  ['a second name with a dollar', () => requireRuleName('$Other'), "The name '$Other' is not"],
  ['a long rule name', () => requireRuleName('r'.repeat(51)), `The name '${'r'.repeat(51)}' is 51`],
]);

test('every other rule name is accepted', () => {
  for (const name of ['$Default', '$default', '-a_', '.', 'r'.repeat(50)]) requireRuleName(name);
});
