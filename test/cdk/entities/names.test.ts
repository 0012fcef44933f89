import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Construct } from 'constructs';
import { Broker } from '../../../cdk/constructs/broker.ts';
import { AuthorizationRule } from '../../../cdk/entities/authorization-rule.ts';
import { Queue } from '../../../cdk/entities/queue.ts';
import { Rule } from '../../../cdk/entities/rule.ts';
import { Subscription } from '../../../cdk/entities/subscription.ts';
import { Topic } from '../../../cdk/entities/topic.ts';
import { ATTRIBUTES, entityResources, functionIn, settingsOf, shop } from './app.ts';

/** Entities that are found: by their names, or around a construct. */

test('what refers to an entity by name waits for the construct that declares it, in any order', () => {
  const { stack, bus, template } = shop();
  const named = Queue.fromName(bus, 'Invoices');
  const events = Topic.fromName(bus, 'events');
  new Queue(bus, 'orders', { forwardTo: named, forwardDeadLetteredMessagesTo: events });
  new Subscription(stack, 'audit', { topic: events });
  new Subscription(stack, 'elsewhere', { topic: Topic.fromName(bus, 'elsewhere') });
  named.grantSend(functionIn(stack, 'Worker'));
  new Queue(bus, 'invoices');
  new Topic(bus, 'events');
  assert.deepEqual(dependenciesIn(template()), {
    'Invoices KEY': ['invoices'],
    'elsewhere/Subscriptions/elsewhere': [],
    events: [],
    'events/Subscriptions/audit': ['events'],
    invoices: [],
    orders: ['events', 'invoices'],
  });
});

test('what waits for an entity that is only named does not wait for the rules in it', () => {
  const { stack, bus, template } = shop();
  const queue = Queue.fromName(bus, 'invoices');
  new AuthorizationRule(queue, 'KEY', { rights: ['Send'] });
  new Queue(stack, 'orders', { broker: bus, forwardTo: queue });
  assert.deepEqual(dependenciesIn(template()), { 'invoices KEY': [], orders: [] });
});

test('entities that forward in a circle by name do not wait for each other', () => {
  const { bus, template } = shop();
  const orders = new Queue(bus, 'orders', {
    forwardDeadLetteredMessagesTo: Queue.fromName(bus, 'retry'),
  });
  const later = new Queue(bus, 'later', { forwardTo: orders });
  new Queue(bus, 'retry', { forwardDeadLetteredMessagesTo: later });
  assert.deepEqual(dependenciesIn(template()), {
    later: ['orders'],
    orders: [],
    retry: ['later'],
  });
});

test('an entity of one description of a broker may forward to one of another description', () => {
  const { app } = shop();
  const [first, second] = ['First', 'Second'].map((id) => {
    const stack = new Stack(app, id);
    return { stack, bus: Broker.fromBrokerAttributes(stack, 'Bus', ATTRIBUTES) };
  });
  assert.ok(first !== undefined && second !== undefined);
  const failed = new Queue(first.bus, 'failed');
  new Queue(second.bus, 'orders', { forwardTo: failed });
  const template = Template.fromStack(second.stack);
  assert.deepEqual(settingsOf(template, 'orders'), { forwardTo: 'failed' });
  assert.deepEqual(second.stack.dependencies, [first.stack]);
});

test('a construct finds the entity that it belongs to through other constructs', () => {
  const { bus, template } = shop();
  const events = new Topic(bus, 'events');
  const audit = new Subscription(new Construct(events, 'Inner'), 'audit');
  new Rule(new Construct(audit, 'Inner'), 'all');
  new AuthorizationRule(new Construct(events, 'Rules'), 'KEY', { rights: ['Send'] });
  assert.equal(audit.topic, events);
  assert.deepEqual([...entityResources(template()).keys()].sort(), [
    'events',
    'events KEY',
    'events/Subscriptions/audit',
  ]);
  assert.deepEqual(settingsOf(template(), 'events/Subscriptions/audit'), {
    rules: [{ name: 'all', sql: '1=1' }],
  });
});

test('a rule finds the subscription of the same package in its other form', () => {
  const { bus } = shop();
  const rules: string[] = [];
  /** Has what a subscription has, and is none by its class. */
  class Other extends Construct {
    readonly subscriptionName = 'audit';
    readonly entityPath = 'events/Subscriptions/audit';
    readonly topic = Topic.fromName(bus, 'events');
    readonly broker = bus;
    addRule(name: string): void {
      rules.push(name);
    }
  }
  new Rule(new Other(bus, 'audit'), 'all');
  assert.deepEqual(rules, ['all']);
});

/** For each entity, on which others its resource depends. Names of the rules of grants have a hash. */
function dependenciesIn(template: Template) {
  const all = template.toJSON()['Resources'] as Readonly<
    Record<string, { readonly DependsOn?: string[] }>
  >;
  const names = new Map<unknown, string>(
    [...entityResources(template)].map(([name, one]) => [one, name.replace(/ Shop\S+$/, ' KEY')]),
  );
  return Object.fromEntries(
    [...names].map(([one, name]) => {
      const { DependsOn = [] } = one as { readonly DependsOn?: readonly string[] };
      return [name, DependsOn.flatMap((id) => names.get(all[id]) ?? []).sort()];
    }),
  );
}
