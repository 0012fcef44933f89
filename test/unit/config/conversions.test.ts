import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NamespaceDescription } from '../../../local/config/description.ts';
import { parseAnyConfig, parseConfig, parseDescription } from '../../../local/config/parse.ts';
import { type ExportedNamespace, toConfig } from '../../../local/config/to-config.ts';
import { describeEntity } from '../../../shared/broker/management/describe-entity.ts';
import { firstRule } from '../../../shared/broker/management/rules.ts';
import type { NamespaceConfig } from '../../../shared/config/namespace-config.ts';
import type { EntityDescription } from '../../../shared/domain/entities/descriptions.ts';
import {
  newQueue,
  newSubscription,
  newTopic,
} from '../../../shared/domain/entities/entity-settings.ts';
import { namespace } from './arbitraries.ts';

/** The short form and the vendor's file say the same, and an exported file what it was made from. */

test('an exported file says the same as the description that its entities came from', () => {
  fc.assert(
    fc.property(namespace, (description) => {
      const described = parseDescription(description satisfies NamespaceDescription);
      const file: unknown = JSON.parse(JSON.stringify(toConfig(exported(described))));
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

/** Keys that a description leaves out are zeros. */
const CONTEXT = {
  namespace: undefined,
  now: 0,
  random: { bytes: (count: number) => new Uint8Array(count) },
};

function described(settings: NamespaceConfig['entities'][number]['settings']): EntityDescription {
  return describeEntity(settings, undefined, CONTEXT);
}

/** The entities as a namespace has them. */
function exported({ entities }: NamespaceConfig): ExportedNamespace {
  const all = entities.map(({ name, settings, rules }) => {
    const [, topic, own = name] = /^(.+)\/Subscriptions\/(.+)$/.exec(name) ?? [];
    const ruleInputs = rules?.map(({ rule }) => rule) ?? [firstRule(undefined)];
    return { name: own, topic, description: described(settings), rules: ruleInputs };
  });
  return {
    queues: all.flatMap(({ name, description }) =>
      description.kind === 'queue' ? [{ name, description }] : [],
    ),
    topics: all.flatMap(({ name, description }) =>
      description.kind === 'topic'
        ? [{ name, description, subscriptions: subscriptionsOf(name) }]
        : [],
    ),
  };

  function subscriptionsOf(owner: string) {
    return all.flatMap(({ name, topic, description, rules }) =>
      description.kind === 'subscription' && topic === owner ? [{ name, description, rules }] : [],
    );
  }
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
  const queue = newQueue({ lockMs: 30_000, forwardTo: 'Some/Queue', supportOrdering: false });
  const subscription = { name: 's', description: newSubscription({}), rules: [] };
  const file = toConfig({
    queues: [{ name: 'q', description: queue }],
    topics: [{ name: 't', description: newTopic({}), subscriptions: [subscription] }],
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

test('a file tells doubles from whole numbers, and has the numbers that JSON has not', () => {
  const doubles = [7, 1.5, 1e300, Number.NaN, -Infinity];
  const properties = Object.fromEntries([
    ...doubles.map((value, i) => [`d${i}`, { type: 'double' as const, value }]),
    ['i', { type: 'int' as const, value: 7 }],
    ['at', { type: 'dateTime' as const, value: 0 }],
  ]);
  const filter = { kind: 'correlation' as const, properties };
  const subscription = {
    name: 's',
    description: newSubscription({}),
    rules: [{ name: 'r', filter }],
  };
  const topic = { name: 't', description: newTopic({}), subscriptions: [subscription] };
  const file: unknown = JSON.parse(JSON.stringify(toConfig({ queues: [], topics: [topic] })));
  assert.deepEqual(parseConfig(file).entities[1]?.rules?.[0]?.rule.filter, filter);
});

test('a queue that forwards to itself is exported with its address, by which it may', () => {
  const description = newQueue({ forwardDeadLetteredMessagesTo: 'Q' });
  const file = toConfig({ queues: [{ name: 'q', description }], topics: [] });
  assert.match(JSON.stringify(file), /"ForwardDeadLetteredMessagesTo":"sb:\/\/sbemulatorns\/Q"/);
  const [queue] = parseConfig(file).entities;
  assert.deepEqual(
    queue?.settings.kind === 'queue' && queue.settings.forwardDeadLetteredMessagesTo,
    'Q',
  );
});
