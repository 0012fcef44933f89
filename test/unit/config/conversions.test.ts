import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type {
  CorrelationFilter,
  NamespaceDescription,
  QueueDescription,
  RuleDescription,
  RuleValue,
  SubscriptionDescription,
  TopicDescription,
} from '../../../local/config/description.ts';
import type { NamespaceConfig } from '../../../local/config/namespace-config.ts';
import { parseAnyConfig, parseConfig, parseDescription } from '../../../local/config/parse.ts';
import { fileName } from '../../../local/config/setting-table.ts';
import {
  type ExportedFilter,
  type ExportedNamespace,
  type ExportedRule,
  toConfig,
} from '../../../local/config/to-config.ts';
import {
  newQueue,
  newSubscription,
  newTopic,
} from '../../../shared/domain/entities/entity-settings.ts';

/** The short form and the vendor's file say the same, and an exported file what it was made from. */

const name = fc
  .tuple(fc.constantFrom('a', 'B', 'q.1', 'x-y_z'), fc.nat({ max: 999 }))
  .map(([word, n]) => `${word}${n}`);
const duration = (minMs: number, maxMs: number) =>
  fc.integer({ min: minMs, max: maxMs }).map((ms) => `PT${ms / 1000}S`);
const optional = <T>(values: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record(values, { requiredKeys: [] });

const DAY_MS = 86_400_000;
const COMMON = {
  defaultMessageTimeToLive: duration(1000, 30 * DAY_MS),
  autoDeleteOnIdle: duration(300_000, 30 * DAY_MS),
  enableBatchedOperations: fc.boolean(),
  status: fc.constantFrom('Active', 'Disabled'),
  userMetadata: fc.string({ minLength: 1, maxLength: 20 }),
} as const;
const DELIVERY = {
  lockDuration: duration(5000, 300_000),
  maxDeliveryCount: fc.integer({ min: 1, max: 2000 }),
  requiresSession: fc.boolean(),
  deadLetteringOnMessageExpiration: fc.boolean(),
};
const INGRESS = {
  requiresDuplicateDetection: fc.boolean(),
  duplicateDetectionHistoryTimeWindow: duration(20_000, 7 * DAY_MS),
  maxSizeInMegabytes: fc.constantFrom(1024, 5120),
  enablePartitioning: fc.boolean(),
  supportOrdering: fc.boolean(),
  authorizationRules: fc.constantFrom(
    [],
    [{ keyName: 'k', accessRights: ['Send' as const], primaryKey: 'A'.repeat(44) }],
  ),
};

const value: fc.Arbitrary<RuleValue> = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
  fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  }),
);
const values = fc.dictionary(fc.constantFrom('p', '__proto__', 'some name'), value);
const text = fc.string({ minLength: 1, maxLength: 9 });
const correlation: fc.Arbitrary<CorrelationFilter> = fc
  .tuple(text, optional({ contentType: text, subject: text, sessionId: text }), values)
  .map(([to, others, properties]) => ({ ...others, to, properties }));
const expression = fc
  .tuple(fc.constantFrom('a = 1', 'b > @x', '1=1', '1=0'), value)
  .map(([sql, x]) => (sql.includes('@') ? { expression: sql, parameters: { x } } : sql));
const rule: fc.Arbitrary<RuleDescription> = fc
  .tuple(
    name,
    fc.oneof(
      fc.constant({}),
      expression.map((sql) => ({ sql })),
      correlation.map((one) => ({ correlation: one })),
    ),
    fc.option(fc.constantFrom('SET x = 1', 'REMOVE y'), { nil: undefined }),
  )
  .map(([ruleName, filter, action]) => ({ name: ruleName, ...filter, action }));

const byName = { selector: (one: { name: string }) => one.name.toLowerCase() };
const subscription: fc.Arbitrary<SubscriptionDescription> = fc
  .tuple(
    name,
    optional({ ...COMMON, ...DELIVERY, deadLetteringOnFilterEvaluationExceptions: fc.boolean() }),
    fc.uniqueArray(rule, { ...byName, maxLength: 3 }),
  )
  .map(([own, settings, rules]) => ({ name: own, ...settings, rules }));
const queue: fc.Arbitrary<QueueDescription> = fc
  .tuple(name, optional({ ...COMMON, ...DELIVERY, ...INGRESS }))
  .map(([own, settings]) => ({ name: `q${own}`, ...settings }));
const topic: fc.Arbitrary<TopicDescription> = fc
  .tuple(
    name,
    optional({ ...COMMON, ...INGRESS }),
    fc.uniqueArray(subscription, { ...byName, maxLength: 3 }),
  )
  .map(([own, settings, subscriptions]) => ({ name: `t${own}`, ...settings, subscriptions }));
const namespace = fc
  .tuple(
    fc.uniqueArray(queue, { ...byName, maxLength: 4 }),
    fc.uniqueArray(topic, { ...byName, maxLength: 3 }),
  )
  .map(([queues, topics]) => ({
    // Each forwards to the one before it, in another spelling and as an address.
    queues: queues.map((one, i) => ({
      ...one,
      ...forwardingTo(i === 0 || one.requiresSession ? undefined : queues[i - 1]),
    })),
    topics,
  }));

function forwardingTo(before: { readonly name: string } | undefined) {
  return before === undefined ? {} : { forwardTo: before.name.toUpperCase() };
}

interface Whole {
  readonly queues: readonly QueueDescription[];
  readonly topics: readonly (TopicDescription & {
    readonly subscriptions?: readonly SubscriptionDescription[];
  })[];
}

test('an exported file says the same as the description that its entities came from', () => {
  fc.assert(
    fc.property(namespace, (description) => {
      const described = parseDescription(description satisfies NamespaceDescription);
      const file: unknown = JSON.parse(JSON.stringify(toConfig(exported(description as Whole))));
      assert.deepEqual(essence(parseAnyConfig(file)), essence(described));
    }),
    { numRuns: 300 },
  );
});

/** What counts: the whole description of each entity, and its rules. */
function essence({ entities }: NamespaceConfig): readonly unknown[] {
  return entities.map(({ name: path, settings, rules }) => ({
    path,
    description: described(settings),
    rules: rules?.map((one) => one.rule),
  }));
}

function described(settings: NamespaceConfig['entities'][number]['settings']): unknown {
  switch (settings.kind) {
    case 'queue':
      return {
        ...newQueue({ ...settings, authorizationRules: [] }),
        policies: settings.authorizationRules ?? [],
      };
    case 'topic':
      return {
        ...newTopic({ ...settings, authorizationRules: [] }),
        policies: settings.authorizationRules ?? [],
      };
    case 'subscription':
      return newSubscription(settings);
  }
}

/** The entities as their ATOM descriptions would show them, as texts. */
function exported({ queues, topics }: Whole): ExportedNamespace {
  return {
    Queues: queues.map(wire),
    Topics: topics.map(({ subscriptions = [], ...one }) => ({
      ...wire(one),
      Subscriptions: subscriptions.map(({ rules, ...each }) => ({
        ...wire(each),
        Rules: exportedRules(rules as readonly RuleDescription[]),
      })),
    })),
  };
}

function wire({ name: own, authorizationRules = [], ...settings }: QueueDescription) {
  const properties = Object.entries(settings).map(([key, one]) => [fileName(key), String(one)]);
  const policies = authorizationRules.map(({ keyName, accessRights, primaryKey }) => ({
    KeyName: keyName,
    Rights: accessRights,
    PrimaryKey: primaryKey,
  }));
  const others = {
    SizeInBytes: '0',
    CreatedAt: '2030-01-01T00:00:00Z',
    AuthorizationRules: policies,
  };
  return { Name: own, ...others, ...Object.fromEntries(properties) };
}

function exportedRules(rules: readonly RuleDescription[]): readonly ExportedRule[] {
  if (rules.length === 0) return [{ Name: '$Default', Filter: { Type: 'TrueFilter' } }];
  return rules.map((one) => ({
    Name: one.name,
    Filter: exportedFilter(one),
    Action: typeof one.action === 'string' ? { SqlExpression: one.action } : undefined,
  }));
}

function exportedFilter({ sql, correlation: filter }: RuleDescription): ExportedFilter {
  if (filter !== undefined) {
    const { subject, properties, ...system } = filter;
    const conditions = Object.entries(system).map(([key, one]) => [fileName(key), one]);
    return {
      Type: 'CorrelationFilter',
      Label: subject,
      Properties: properties,
      ...Object.fromEntries(conditions),
    };
  }
  if (sql === undefined || sql === '1=1') return { Type: 'TrueFilter' };
  if (sql === '1=0') return { Type: 'FalseFilter' };
  if (typeof sql === 'string') return { Type: 'SqlFilter', SqlExpression: sql };
  return { Type: 'SqlFilter', SqlExpression: sql.expression, Parameters: sql.parameters };
}

test('lists and records of the short form say the same', () => {
  const asLists = {
    queues: ['a', { name: 'b', lockDuration: 'PT90S' }],
    topics: [
      { name: 't', subscriptions: ['s', { name: 'u', rules: [{ name: 'r', sql: 'a = 1' }] }] },
    ],
  } satisfies NamespaceDescription;
  const asRecords = {
    queues: { a: {}, b: { lockDuration: { minutes: 1, seconds: 30 } } },
    topics: { t: { subscriptions: { s: {}, u: { rules: { r: 'a = 1' } } } } },
  } satisfies NamespaceDescription;
  assert.deepEqual(essence(parseDescription(asRecords)), essence(parseDescription(asLists)));
});

test('an exported file has the settings that the vendor writes, and others only where they are no default', () => {
  const file = toConfig({
    Queues: [
      {
        Name: 'q',
        LockDuration: 'PT30S',
        ForwardTo: 'sb://localhost:5300/Some%2FQueue',
        EnableBatchedOperations: 'true',
        SupportOrdering: false,
        AuthorizationRules: [],
      },
    ],
    Topics: [{ Name: 't', Subscriptions: [{ Name: 's', Rules: [] }] }],
  });
  const delivery = {
    DeadLetteringOnMessageExpiration: false,
    DefaultMessageTimeToLive: 'P10675199DT2H48M5.4775807S',
    ForwardDeadLetteredMessagesTo: '',
    MaxDeliveryCount: 10,
    RequiresSession: false,
  };
  const ingress = {
    DefaultMessageTimeToLive: 'P10675199DT2H48M5.4775807S',
    DuplicateDetectionHistoryTimeWindow: 'PT10M',
    RequiresDuplicateDetection: false,
  };
  const queueProperties = {
    LockDuration: 'PT30S',
    ForwardTo: 'Some/Queue',
    SupportOrdering: false,
  };
  const none = { FilterType: 'Sql', SqlFilter: { SqlExpression: '1=0' } };
  const s = {
    Name: 's',
    Properties: { ...delivery, LockDuration: 'PT1M', ForwardTo: '' },
    Rules: [{ Name: '$Default', Properties: none }],
  };
  const expected = {
    Name: 'sbemulatorns',
    Queues: [{ Name: 'q', Properties: { ...ingress, ...delivery, ...queueProperties } }],
    Topics: [{ Name: 't', Properties: ingress, Subscriptions: [s] }],
  };
  assert.deepEqual(file, { UserConfig: { Namespaces: [expected], Logging: { Type: 'File' } } });
});

test('null, and an empty text for a destination, mean that a setting is absent', () => {
  const { entities } = parseConfig({
    UserConfig: {
      Namespaces: [
        {
          Queues: [{ Name: 'q', Properties: { ForwardTo: '', LockDuration: null } }],
          Topics: null,
        },
      ],
      Logging: { Type: 'Console' },
    },
  });
  assert.deepEqual(
    entities.map(({ settings }) => settings),
    [{ kind: 'queue' }],
  );
});

test('a partitioned queue may have the size that clients show for it', () => {
  const { entities } = parseDescription({
    queues: { q: { enablePartitioning: true, maxSizeInMegabytes: 16 * 2048 } },
  });
  assert.deepEqual(entities[0]?.settings, {
    kind: 'queue',
    enablePartitioning: true,
    maxSizeInMegabytes: 16 * 2048,
  });
});
