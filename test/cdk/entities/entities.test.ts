import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Duration, Lazy, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Broker } from '../../../cdk/constructs/broker.ts';
import { Queue } from '../../../cdk/entities/queue.ts';
import { Rule } from '../../../cdk/entities/rule.ts';
import { Subscription } from '../../../cdk/entities/subscription.ts';
import { Topic } from '../../../cdk/entities/topic.ts';
import { SETTINGS } from '../../../shared/config/setting-table.ts';
import { ATTRIBUTES, entityResources, settingsOf, shop } from './app.ts';

test('declared entities become custom resources of the broker, destinations first', () => {
  const { bus, template } = shop();
  const invoices = new Queue(bus, 'Invoices', { queueName: 'billing/invoices' });
  const events = new Topic(bus, 'events', { defaultMessageTimeToLive: Duration.days(14) });
  const orders = new Queue(bus, 'Orders', {
    lockDuration: Duration.seconds(30),
    deadLetteringOnMessageExpiration: true,
    forwardTo: events,
    forwardDeadLetteredMessagesTo: invoices,
  });
  new Subscription(events, 'audit', { maxDeliveryCount: 3 });
  assert.equal(orders.entityPath, 'Orders');
  const resources = entityResources(template());
  assert.deepEqual(
    [...resources].map(([name, { Type }]) => [name, Type]),
    [
      ['billing/invoices', 'Custom::DynabusQueue'],
      ['events', 'Custom::DynabusTopic'],
      ['events/Subscriptions/audit', 'Custom::DynabusSubscription'],
      ['Orders', 'Custom::DynabusQueue'],
    ],
  );
  assert.deepEqual(settingsOf(template(), 'Orders'), {
    lockDuration: 'PT30S',
    deadLetteringOnMessageExpiration: true,
    forwardTo: 'events',
    forwardDeadLetteredMessagesTo: 'billing/invoices',
  });
  assert.deepEqual(settingsOf(template(), 'events'), { defaultMessageTimeToLive: 'P14D' });
  const [queueIds = [], subscriptionIds = []] = ['Orders', 'events/Subscriptions/audit'].map(
    (name) => resources.get(name)?.DependsOn,
  );
  assert.deepEqual(queueIds.map(withoutHash), ['Busevents', 'BusInvoices']);
  assert.deepEqual(subscriptionIds.map(withoutHash), ['Busevents']);
  const { ServiceToken } = resources.get('Orders')?.Properties ?? {};
  assert.match(JSON.stringify(ServiceToken), /^\{"Fn::GetAtt":\["BusDeclare\w+","Arn"\]\}$/);
});

test('rules are made with their subscription, with the types of their values', () => {
  const { bus, template } = shop();
  const events = new Topic(bus, 'events');
  const audit = new Subscription(events, 'audit');
  new Rule(audit, 'large', {
    sql: {
      expression: 'Quantity > @least AND At < @at',
      parameters: { least: 7, at: new Date(0) },
    },
    action: "SET kind = 'large'",
  });
  new Rule(audit, 'urgent', {
    correlation: { subject: 'urgent', properties: { region: 'eu', half: 0.5 } },
  });
  new Rule(audit, 'all', { ruleName: '__proto__' });
  assert.deepEqual(settingsOf(template(), 'events/Subscriptions/audit'), {
    rules: [
      {
        name: 'large',
        sql: {
          expression: 'Quantity > @least AND At < @at',
          parameters: { least: 7, at: { DateTime: '1970-01-01T00:00:00.000Z' } },
        },
        action: "SET kind = 'large'",
      },
      {
        name: 'urgent',
        correlation: { subject: 'urgent', properties: { region: 'eu', half: 0.5 } },
      },
      { name: '__proto__', sql: '1=1' },
    ],
  });
});

test('entities lie in the stack of their scope, also with the broker of another stack or app', () => {
  const { app, bus } = shop();
  const team = new Stack(app, 'Team');
  const events = new Topic(team, 'events', { broker: bus });
  new Subscription(team, 'Audit', { topic: events });
  new Subscription(team, 'Invoices', { topic: Topic.fromName(bus, 'invoices') });
  const others = Broker.fromBrokerAttributes(team, 'Other', { ...ATTRIBUTES, access: 'iam' });
  new Queue(others, 'orders');
  const template = Template.fromStack(team);
  assert.deepEqual([...entityResources(template).keys()].sort(), [
    'events',
    'events/Subscriptions/Audit',
    'invoices/Subscriptions/Invoices',
    'orders',
  ]);
});

test('an entity outlives its stack where the broker keeps its data, or as it says itself', () => {
  for (const [keepData, removalPolicy, deletion, replacement] of [
    [true, undefined, 'RetainExceptOnCreate', 'Retain'],
    [false, undefined, 'Delete', 'Delete'],
    [true, RemovalPolicy.DESTROY, 'Delete', 'Delete'],
    [false, RemovalPolicy.RETAIN, 'Retain', 'Retain'],
  ] as const) {
    const { bus, template } = shop({ keepData });
    new Queue(bus, 'orders', { adopt: true, ...(removalPolicy && { removalPolicy }) });
    const resource = entityResources(template()).get('orders');
    assert.equal(resource?.DeletionPolicy, deletion);
    assert.equal(resource?.UpdateReplacePolicy, replacement);
    assert.equal(resource?.Properties.Adopt, 'true');
  }
});

test('every setting of the service can be declared, but for the rules that constructs declare', () => {
  const { bus, template } = shop({ tier: 'Premium' });
  const target = new Queue(bus, 'target');
  const topic = new Topic(bus, 'topic', TOPIC);
  new Queue(bus, 'queue', { ...QUEUE, forwardTo: target, forwardDeadLetteredMessagesTo: topic });
  new Subscription(topic, 'subscription', {
    ...SUBSCRIPTION,
    forwardTo: target,
    forwardDeadLetteredMessagesTo: target,
  });
  const paths = {
    queue: 'queue',
    topic: 'topic',
    subscription: 'topic/Subscriptions/subscription',
  };
  for (const [kind, path] of Object.entries(paths)) {
    const written = Object.keys(settingsOf(template(), path) as object).sort();
    const all = Object.keys(SETTINGS[kind as keyof typeof SETTINGS]);
    assert.deepEqual(written, all.filter((name) => name !== 'authorizationRules').sort());
  }
});

const COMMON = {
  defaultMessageTimeToLive: Duration.hours(1),
  autoDeleteOnIdle: Duration.minutes(5),
  enableBatchedOperations: false,
  status: 'Disabled',
  userMetadata: 'mine',
} as const;
const INGRESS = {
  requiresDuplicateDetection: true,
  duplicateDetectionHistoryTimeWindow: Duration.minutes(1),
  maxSizeInMegabytes: 2048,
  maxMessageSizeInKilobytes: 2048,
  enablePartitioning: false,
  enableExpress: false,
  supportOrdering: false,
  isAnonymousAccessible: true,
} as const;
const DELIVERY = {
  lockDuration: Duration.seconds(10),
  maxDeliveryCount: 3,
  requiresSession: false,
  deadLetteringOnMessageExpiration: true,
} as const;
const QUEUE = { ...COMMON, ...INGRESS, ...DELIVERY };
const TOPIC = {
  ...COMMON,
  ...INGRESS,
  filteringMessagesBeforePublishing: true,
  enableSubscriptionPartitioning: true,
};
const SUBSCRIPTION = {
  ...COMMON,
  ...DELIVERY,
  deadLetteringOnFilterEvaluationExceptions: false,
};

test('wrong values are refused at synthesis, all of them, with the path of the construct', () => {
  const { bus, stack } = shop();
  const other = new Broker(stack, 'Other');
  const queue = new Queue(bus, 'queue');
  const topic = new Topic(bus, 'topic');
  const audit = new Subscription(topic, 'audit');
  const unchecked = (props: object) => props as never;
  const wrong: readonly (readonly [make: () => unknown, ...lines: RegExp[]])[] = [
    [
      () => new Queue(bus, 'a', { lockDuration: Duration.minutes(6), maxDeliveryCount: 0 }),
      /^Shop\/Bus\/a: lockDuration: The supplied lock time exceeds/,
      /^Shop\/Bus\/a: maxDeliveryCount: The value '0'/,
    ],
    [
      () => new Queue(bus, 'b', unchecked({ lockDurations: 1 })),
      /^Shop\/Bus\/b: lockDurations: .*write lockDuration/,
    ],
    [
      () => new Queue(bus, 'c', unchecked({ requiresSession: 'yes' })),
      /^Shop\/Bus\/c: requiresSession: /,
    ],
    [() => new Queue(bus, 'd?'), /^Shop\/Bus\/d\?: name: /],
    [() => new Queue(bus, 'QUEUE'), /^Shop\/Bus\/QUEUE: .*Shop\/Bus\/queue too/],
    [
      () => new Queue(bus, 'e', { queueName: Lazy.string({ produce: () => 'e' }) }),
      /^Shop\/Bus\/e: The name is a token/,
    ],
    [
      () => new Queue(bus, 'f', { maxDeliveryCount: Lazy.number({ produce: () => 3 }) }),
      /^Shop\/Bus\/f: maxDeliveryCount: It is a token/,
    ],
    [
      () =>
        new Queue(bus, 'g', { lockDuration: Duration.seconds(Lazy.number({ produce: () => 3 })) }),
      /^Shop\/Bus\/g: lockDuration: It is a token/,
    ],
    [() => new Queue(bus, 'h', { maxMessageSizeInKilobytes: 2048 }), /^Shop\/Bus\/h: .*Premium/],
    [
      () => new Queue(bus, 'i', { forwardTo: new Queue(other, 'i') }),
      /^Shop\/Bus\/i: forwardTo: Shop\/Other\/i is in another broker/,
    ],
    [
      () => new Queue(bus, 'j', { forwardTo: unchecked(audit) }),
      /^Shop\/Bus\/j: forwardTo: .* not Shop\/Bus\/topic\/audit, a subscription/,
    ],
    [
      () => new Queue(bus, 'k', { forwardTo: Queue.fromName(bus, 'K') }),
      /^Shop\/Bus\/k: forwardTo: .*itself/,
    ],
    [
      () => new Queue(bus, 'l', { requiresSession: true, forwardTo: queue }),
      /^Shop\/Bus\/l: forwardTo: .*sessions/,
    ],
    [() => new Queue(bus, 'm', unchecked({ authorizationRules: [] })), /use AuthorizationRule/],
    [
      () => new Queue(bus, 'adopts', unchecked({ adopt: 'yes' })),
      /adopts: adopt: It must be true or false, not "yes"/,
    ],
    [() => new Queue(stack, 'n'), /^Shop\/n: It has no broker/],
    [() => new Subscription(bus, 'o'), /^Shop\/Bus\/o: It has no topic/],
    [
      () => new Subscription(topic, 'p', { forwardTo: topic }),
      /^Shop\/Bus\/topic\/p: forwardTo: .*itself/,
    ],
    [() => new Subscription(topic, 'q', unchecked({ rules: {} })), /use Rule/],
    [() => new Subscription(topic, 'Audit'), /^Shop\/Bus\/topic\/Audit: .*audit too/],
    [() => new Rule(audit, 'r', { sql: 'a >' }), /^Shop\/Bus\/topic\/audit\/r: sql: /],
    [
      () => new Rule(audit, 's', { sql: 'a = 1', correlation: { to: 'x' } }),
      /^Shop\/Bus\/topic\/audit\/s: A rule has one filter/,
    ],
    [() => new Rule(audit, 't', { correlation: {} }), /^Shop\/Bus\/topic\/audit\/t: correlation: /],
    [() => new Rule(topic, 'u'), /^Shop\/Bus\/topic\/u: It belongs to no Subscription/],
    [() => Queue.fromName(bus, 'v?'), /^Shop\/Bus, Queue.fromName: /],
  ];
  for (const [make, ...lines] of wrong) {
    assert.throws(make, (error) => {
      const found = (error as Error).message.split('\n');
      assert.deepEqual(found.length, lines.length, found.join('\n'));
      for (const [i, line] of lines.entries()) assert.match(found[i] ?? '', line);
      return true;
    });
  }
  new Rule(audit, 'w');
  assert.throws(() => new Rule(stack, 'W', { subscription: audit }), /has a rule 'W' already/);
});

test('a name refers to the same construct each time, and creates nothing', () => {
  const { bus, template } = shop();
  assert.equal(Queue.fromName(bus, 'orders'), Queue.fromName(bus, 'Orders'));
  const topic = Topic.fromName(bus, 'events');
  assert.equal(Subscription.fromName(topic, 'audit').entityPath, 'events/Subscriptions/audit');
  assert.equal(entityResources(template()).size, 0);
});

/** The part of a logical id that people can read. */
function withoutHash(id: string): string {
  return id.replace(/[\dA-F]{8}$/, '');
}
