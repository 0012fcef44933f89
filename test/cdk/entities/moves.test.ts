import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App, Fn, NestedStack, Stack, Stage } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Construct } from 'constructs';
import { Broker } from '../../../cdk/constructs/broker.ts';
import { AuthorizationRule } from '../../../cdk/entities/authorization-rule.ts';
import { Queue } from '../../../cdk/entities/queue.ts';
import { ATTRIBUTES, entityResources, functionIn, shop } from './app.ts';

/** What must stay, or must differ, if constructs move in an app. */

const UNBUNDLED = {
  context: { 'aws:cdk:bundling-stacks': [] },
  builtinCloudFormationValidation: false,
};

/** The template of a stack `Shop` with a broker in a construct, at some place of an app. */
function templateAt(place: (app: App) => Construct): Template {
  const stack = new Stack(place(new App(UNBUNDLED)), 'Shop', { stackName: 'Shop' });
  const bus = new Broker(new Construct(stack, 'Backend'), 'Bus');
  new Queue(bus, 'orders').grantSend(functionIn(stack, 'Worker'));
  const nested = new Broker(new NestedStack(stack, 'Nested'), 'Bus');
  new Queue(stack, 'Other', { broker: nested }).grantSend(functionIn(stack, 'Nestling'));
  return Template.fromStack(stack);
}

test('a stack that moves in its app keeps its parameters and its logical ids', () => {
  const before = templateAt((app) => app);
  const after = templateAt((app) => new Construct(new Stage(app, 'Prod'), 'Moved'));
  const parametersIn = (template: Template) =>
    Object.entries(template.findResources('Custom::DynabusAuthorizationRule')).map(
      ([id, resource]) => [id, resource['Properties'].Parameter],
    );
  const parameters = parametersIn(before);
  assert.deepEqual(parametersIn(after), parameters);
  const names = parameters.map(([, name]) => String(name).replaceAll(/-[\dA-F]{8}/g, '-HASH'));
  assert.deepEqual(names.sort(), [
    '/dynabus/Shop/Shop-Backend-Bus-HASH/orders/Shop-Worker-ServiceRole-HASH',
    '/dynabus/Shop/Shop-Nested-Bus-HASH/other/Shop-Nestling-ServiceRole-HASH',
  ]);
});

test('another parameter is an update of the rule, which writes it', () => {
  const { stack, bus, template } = shop();
  for (const broker of [bus, new Broker(stack, 'Other')]) {
    const queue = new Queue(broker, `of-${broker.node.id}`);
    new AuthorizationRule(queue, 'r', { rights: ['Send'] });
  }
  const resources = entityResources(template());
  assert.deepEqual(
    ['of-Bus r', 'of-Other r'].map((name) => resources.get(name)?.Properties.Parameter),
    ['/dynabus/Shop/Bus/of-bus/r', '/dynabus/Shop/Other/of-other/r'],
  );
});

test('grants of brokers with the same id keep their logical ids in any order', () => {
  const ids = [0, 1].map((first) => {
    const app = new App(UNBUNDLED);
    const queues = ['First', 'Second'].map(
      (id) => new Queue(new Broker(new Stack(app, id), 'Bus'), 'orders'),
    );
    const team = new Stack(app, 'Team');
    const fn = functionIn(team, 'Worker');
    for (const queue of first === 0 ? queues : [...queues].reverse()) queue.grantSend(fn);
    const rules = Template.fromStack(team).findResources('Custom::DynabusAuthorizationRule');
    return Object.entries(rules).map(([id, { Properties }]) => [
      id,
      JSON.stringify(Properties.ServiceToken),
    ]);
  });
  assert.equal(ids[0]?.length, 2);
  assert.deepEqual(ids[0]?.sort(), ids[1]?.sort());
});

test('the policy of a grant names the parameter, also if its beginning is a token', () => {
  const { app } = shop();
  const team = new Stack(app, 'Team');
  const bus = Broker.fromBrokerAttributes(team, 'Bus', {
    ...ATTRIBUTES,
    parameterPrefix: Fn.importValue('Prefix'),
  });
  const fn = functionIn(team, 'Worker');
  Queue.fromName(bus, 'orders').grantSend(fn);
  const policies = Object.values(Template.fromStack(team).findResources('AWS::IAM::Policy'));
  const [statement] = policies[0]?.['Properties'].PolicyDocument.Statement ?? [];
  const parts = statement.Resource['Fn::Join'][1] as readonly unknown[];
  const at = parts.findIndex((part) => String(part).endsWith(':parameter'));
  assert.deepEqual(parts[at + 1], { 'Fn::ImportValue': 'Prefix' });
  assert.match(String(parts[at + 2]), /^\/orders\/Team-Worker-ServiceRole/);
});
