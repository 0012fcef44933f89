import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Management } from '../../../shared/broker/management/management.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import {
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import {
  type SettingsOperation,
  type Tier,
  withinTier,
} from '../../../shared/domain/entities/tier.ts';
import { fakeManageDependencies } from '../../support/fake-entity-store.ts';

const DAY = 24 * 60 * 60 * 1000;
const FORTNIGHT = 14 * DAY;

type TierSettings = Parameters<typeof withinTier>[0];

const within = (tier: Tier, input: TierSettings, operation: SettingsOperation = 'creating') =>
  withinTier(input, { name: 'ns', tier }, operation);

function refuses(
  tier: Tier,
  input: TierSettings,
  operation: SettingsOperation,
  sentence: string,
): void {
  test(`${tier}: ${operation} with ${JSON.stringify(input)} is refused`, () => {
    assert.throws(
      () => within(tier, input, operation),
      (error: unknown) => {
        assert.ok(error instanceof BrokerError);
        assert.deepEqual([error.code, error.subCode], ['ArgumentError', '40000']);
        assert.equal(error.message, sentence);
        return true;
      },
    );
  });
}

test('Standard keeps settings unchanged', () => {
  const input: TierSettings = { kind: 'topic', autoDeleteOnIdleMs: DAY, enablePartitioning: true };
  assert.equal(within('Standard', input), input);
});

test('Basic keeps messages for at most 14 days, also where the request says unlimited', () => {
  const rows = [
    [{}, FORTNIGHT],
    [{ defaultTimeToLiveMs: Infinity }, FORTNIGHT],
    [{ defaultTimeToLiveMs: FORTNIGHT }, FORTNIGHT],
    [{ defaultTimeToLiveMs: DAY }, DAY],
  ] as const;
  for (const [input, expected] of rows) {
    for (const operation of ['creating', 'updating'] as const) {
      const { defaultTimeToLiveMs } = within('Basic', { kind: 'queue', ...input }, operation);
      assert.equal(defaultTimeToLiveMs, expected);
    }
  }
});

test('Basic accepts disabled features, an unlimited AutoDeleteOnIdle, and partitions', () => {
  const input: TierSettings = {
    kind: 'queue',
    requiresSession: false,
    requiresDuplicateDetection: false,
    autoDeleteOnIdleMs: Infinity,
    enablePartitioning: true,
  };
  assert.deepEqual(within('Basic', input), { ...input, defaultTimeToLiveMs: FORTNIGHT });
});

const ONLY = "This operation is only supported in 'Standard' or 'Premium' tier.";
const BASIC = `because the namespace 'ns' is using the 'Basic' Tier. ${ONLY}`;

for (const [property, input] of [
  ['requiresSession', { requiresSession: true }],
  ['requiresDuplicateDetection', { requiresDuplicateDetection: true }],
  ['forwardTo', { forwardTo: 'x' }],
  ['forwardDeadLetteredMessagesTo', { forwardDeadLetteredMessagesTo: 'x' }],
  ['autoDeleteOnIdle', { autoDeleteOnIdleMs: FORTNIGHT }],
] as const) {
  const sentence = `The property '${property}' can't be set when creating a Queue ${BASIC}`;
  refuses('Basic', { kind: 'queue', ...input }, 'creating', sentence);
}
refuses(
  'Basic',
  { kind: 'queue', forwardTo: 'x' },
  'updating',
  `The property 'forwardTo' can't be set when updating a Queue ${BASIC}`,
);
refuses('Basic', { kind: 'topic' }, 'creating', `A Topic can't be created ${BASIC}`);
refuses('Basic', { kind: 'subscription' }, 'creating', `A Subscription can't be created ${BASIC}`);
refuses(
  'Basic',
  { kind: 'queue', defaultTimeToLiveMs: FORTNIGHT + 1000 },
  'updating',
  "The value 'P14DT1S' of the 'defaultMessageTimeToLive' property is above 'P14D', the maximum in the 'Basic' Tier, which the namespace 'ns' is using.",
);

test('entities created under an earlier tier can still be updated', () => {
  const old: TierSettings = { kind: 'queue', requiresSession: true, enablePartitioning: true };
  assert.equal(within('Basic', old, 'updating').requiresSession, true);
  assert.equal(within('Premium', old, 'updating').partitions, undefined);
  assert.equal(within('Basic', { kind: 'topic' }, 'updating').defaultTimeToLiveMs, FORTNIGHT);
});

test('Premium accepts messages of 1 MB by default; subscriptions have no such setting', () => {
  assert.equal(within('Premium', { kind: 'queue' }).maxMessageSizeInKilobytes, 1024);
  const input: TierSettings = { kind: 'topic', maxMessageSizeInKilobytes: 2048 };
  assert.equal(within('Premium', input, 'updating').maxMessageSizeInKilobytes, 2048);
  assert.deepEqual(within('Premium', { kind: 'subscription' }), { kind: 'subscription' });
});

test('in Premium a partitioned entity has two partitions from its creation on', () => {
  for (const kind of ['queue', 'topic'] as const) {
    assert.equal(within('Premium', { kind, enablePartitioning: true }).partitions, 2);
    assert.equal(within('Premium', { kind }).partitions, undefined);
  }
});

test('management enforces the tier of its namespace, on updates too', async () => {
  const dependencies = fakeManageDependencies({ keyName: 'root', key: 'k' });
  const management = new Management({
    ...dependencies,
    quotaCounts: dependencies.counts,
    beginForwarding: () => Promise.resolve(),
    namespace: { name: 'ns', tier: 'Basic' },
  });
  assert.equal(management.tier, 'Basic');
  const { description } = await management.create('q', { kind: 'queue' });
  assert.deepEqual(description, { ...QUEUE_DEFAULTS, defaultTimeToLiveMs: FORTNIGHT });
  await assert.rejects(
    management.update('q', { kind: 'queue', autoDeleteOnIdleMs: DAY }, '*'),
    /'autoDeleteOnIdle' can't be set when updating a Queue/,
  );
  await assert.rejects(
    management.update('q', { kind: 'queue', requiresSession: true }, '*'),
    /The value for the 'requiresSession' property of an existing Queue can't be changed/,
  );
  // Refused before the topic is looked up, because Basic has no subscriptions.
  await assert.rejects(
    management.create('t/Subscriptions/s', { kind: 'subscription' }),
    /A Subscription can't be created/,
  );
});

test('management without a configured tier is Standard', async () => {
  const { management } = fakeManageDependencies({ keyName: 'root', key: 'k' });
  assert.equal(management.tier, 'Standard');
  await management.create('t', { kind: 'topic' });
  const { description } = await management.create('t/Subscriptions/s', { kind: 'subscription' });
  assert.deepEqual(description, SUBSCRIPTION_DEFAULTS);
});
