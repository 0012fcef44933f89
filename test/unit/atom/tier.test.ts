import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Management } from '../../../shared/broker/management/management.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import {
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import { type Act, type Tier, withinTier } from '../../../shared/domain/entities/tier.ts';
import { fakeManageDependencies } from '../../support/fake-entity-store.ts';

const DAY = 24 * 60 * 60 * 1000;
const FORTNIGHT = 14 * DAY;

type Said = Parameters<typeof withinTier>[0];

const within = (tier: Tier, said: Said, act: Act = 'creating') =>
  withinTier(said, { name: 'ns', tier }, act);

function refuses(tier: Tier, said: Said, act: Act, sentence: string): void {
  test(`${tier}: ${act} with ${JSON.stringify(said)} is refused`, () => {
    assert.throws(
      () => within(tier, said, act),
      (error: unknown) => {
        assert.ok(error instanceof BrokerError);
        assert.deepEqual([error.code, error.subCode], ['ArgumentError', '40000']);
        assert.equal(error.message, sentence);
        return true;
      },
    );
  });
}

test('Standard leaves what is said as it is', () => {
  const said: Said = { kind: 'topic', autoDeleteOnIdleMs: DAY, enablePartitioning: true };
  assert.equal(within('Standard', said), said);
});

test('Basic keeps messages for a fortnight at most, and that is what unlimited means', () => {
  const rows = [
    [{}, FORTNIGHT],
    [{ defaultTimeToLiveMs: Infinity }, FORTNIGHT],
    [{ defaultTimeToLiveMs: FORTNIGHT }, FORTNIGHT],
    [{ defaultTimeToLiveMs: DAY }, DAY],
  ] as const;
  for (const [said, expected] of rows) {
    for (const act of ['creating', 'updating'] as const) {
      const { defaultTimeToLiveMs } = within('Basic', { kind: 'queue', ...said }, act);
      assert.equal(defaultTimeToLiveMs, expected);
    }
  }
});

test('Basic takes what is off, idleness that is unlimited, and partitions', () => {
  const said: Said = {
    kind: 'queue',
    requiresSession: false,
    requiresDuplicateDetection: false,
    autoDeleteOnIdleMs: Infinity,
    enablePartitioning: true,
  };
  assert.deepEqual(within('Basic', said), { ...said, defaultTimeToLiveMs: FORTNIGHT });
});

const ONLY = "This operation is only supported in 'Standard' or 'Premium' tier.";
const BASIC = `because the namespace 'ns' is using the 'Basic' Tier. ${ONLY}`;

for (const [property, said] of [
  ['requiresSession', { requiresSession: true }],
  ['requiresDuplicateDetection', { requiresDuplicateDetection: true }],
  ['forwardTo', { forwardTo: 'x' }],
  ['forwardDeadLetteredMessagesTo', { forwardDeadLetteredMessagesTo: 'x' }],
  ['autoDeleteOnIdle', { autoDeleteOnIdleMs: FORTNIGHT }],
] as const) {
  const sentence = `The property '${property}' can't be set when creating a Queue ${BASIC}`;
  refuses('Basic', { kind: 'queue', ...said }, 'creating', sentence);
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

test('what was made before the namespace had its tier can still be changed', () => {
  const old: Said = { kind: 'queue', requiresSession: true, enablePartitioning: true };
  assert.equal(within('Basic', old, 'updating').requiresSession, true);
  assert.equal(within('Premium', old, 'updating').partitions, undefined);
  assert.equal(within('Basic', { kind: 'topic' }, 'updating').defaultTimeToLiveMs, FORTNIGHT);
});

test('Premium takes messages of 1 MB where nothing else is said; subscriptions say nothing of it', () => {
  assert.equal(within('Premium', { kind: 'queue' }).maxMessageSizeInKilobytes, 1024);
  const said: Said = { kind: 'topic', maxMessageSizeInKilobytes: 2048 };
  assert.equal(within('Premium', said, 'updating').maxMessageSizeInKilobytes, 2048);
  assert.deepEqual(within('Premium', { kind: 'subscription' }), { kind: 'subscription' });
});

test('Premium gives a partitioned entity two partitions, from its creation on', () => {
  for (const kind of ['queue', 'topic'] as const) {
    assert.equal(within('Premium', { kind, enablePartitioning: true }).partitions, 2);
    assert.equal(within('Premium', { kind }).partitions, undefined);
  }
});

test('management holds its namespace to the tier, on updates too', async () => {
  const management = new Management({
    ...fakeManageDependencies({ keyName: 'root', key: 'k' }),
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
  // Said before the topic is looked for: no subscription could ever be made.
  await assert.rejects(
    management.create('t/Subscriptions/s', { kind: 'subscription' }),
    /A Subscription can't be created/,
  );
});

test('management without a named namespace is Standard', async () => {
  const { management } = fakeManageDependencies({ keyName: 'root', key: 'k' });
  assert.equal(management.tier, 'Standard');
  await management.create('t', { kind: 'topic' });
  const { description } = await management.create('t/Subscriptions/s', { kind: 'subscription' });
  assert.deepEqual(description, SUBSCRIPTION_DEFAULTS);
});
