import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type {
  NamespaceDescription,
  QueueDescription,
  RuleDescription,
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
import { namespace } from './arbitraries.ts';

/** The short form and the vendor's file say the same, and an exported file what it was made from. */

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

test('an unlimited duration is the absence of a time to live, and of a time without use', () => {
  const unlimited = 'P10675199DT2H48M5.4775807S';
  const { entities } = parseDescription({
    queues: { q: { defaultMessageTimeToLive: unlimited, autoDeleteOnIdle: unlimited } },
  });
  assert.deepEqual(entities[0]?.settings, { kind: 'queue' });
});

test('a value in a rule has the type that fits it', () => {
  const properties = { int: 5, long: 2 ** 40, double: 1.5, big: 1e300, no: false, text: '5' };
  const rules = { r: { correlation: { properties } } };
  const { entities } = parseDescription({ topics: { t: { subscriptions: { s: { rules } } } } });
  assert.deepEqual(entities[1]?.rules?.[0]?.rule.filter, {
    kind: 'correlation',
    properties: {
      int: { type: 'int', value: 5 },
      long: { type: 'long', value: 1_099_511_627_776n },
      double: { type: 'double', value: 1.5 },
      big: { type: 'double', value: 1e300 },
      no: { type: 'boolean', value: false },
      text: { type: 'string', value: '5' },
    },
  });
});
