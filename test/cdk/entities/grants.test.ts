import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AccountPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { AuthorizationRule } from '../../../cdk/entities/authorization-rule.ts';
import { Queue } from '../../../cdk/entities/queue.ts';
import { Subscription } from '../../../cdk/entities/subscription.ts';
import { Topic } from '../../../cdk/entities/topic.ts';
import { entityResources, functionIn, shop } from './app.ts';

test('under iam access a grant allows methods and paths of one entity', () => {
  const { stack, bus, template } = shop({ access: 'iam' });
  const orders = new Queue(bus, 'orders');
  orders.grantSend(functionIn(stack, 'Sender'));
  const [statement, ...others] = statementsOf(template(), 'Sender');
  assert.deepEqual(others, []);
  assert.equal(statement?.Action, 'execute-api:Invoke');
  assert.deepEqual(pathsOf(statement?.Resource), [
    '/$default/POST/orders/messages',
    '/$default/POST/orders/messages/$schedule',
    // A `?` stands for any one character, so that the operation may have its capital or not.
    '/$default/POST/orders/messages/$cancel?cheduled',
    '/$default/GET/orders/messages/$sender',
  ]);
  assert.equal(entityResources(template()).size, 1);
});

test('under iam access a function is told the path that its grant names, in lower case', () => {
  const { stack, bus, template } = shop({ access: 'iam' });
  const worker = functionIn(stack, 'Worker');
  const audit = new Subscription(new Topic(bus, 'Events'), 'Audit');
  audit.grantListen(worker);
  audit.addEnvironment(worker);
  const [statement] = statementsOf(template(), 'Worker');
  assert.equal(
    pathsOf(statement?.Resource)[0],
    '/$default/POST/events/subscriptions/audit/messages/head',
  );
  template().hasResourceProperties('AWS::Lambda::Function', {
    Environment: { Variables: { DYNABUS_EVENTS_AUDIT_ENTITY: 'events/subscriptions/audit' } },
  });
});

test('a role has room for as many grants under iam access as the documentation says', () => {
  for (const [grant, count] of [
    ['grantListen', 11],
    ['grantManage', 10],
  ] as const) {
    const { stack, bus, template } = shop({ access: 'iam' });
    const worker = functionIn(stack, 'Worker');
    for (let i = 0; i < count; i++) new Queue(bus, `orders-${i}`)[grant](worker);
    // With that of every function, which lets it log, it is 10, the usual quota.
    template().resourceCountIs('AWS::IAM::ManagedPolicy', 9);
  }
});

test('under sas access a grant makes a rule for the function, whose key it may read', () => {
  const { app, bus } = shop();
  const orders = new Queue(bus, 'orders');
  const events = new Topic(bus, 'events');
  const audit = new Subscription(events, 'audit');
  const team = new Stack(app, 'Team');
  const worker = functionIn(team, 'Worker');
  orders.grantListen(worker);
  orders.grantSend(worker);
  audit.grantListen(worker);
  orders.addEnvironment(worker);
  audit.addEnvironment(worker, 'AUDIT');
  const template = Template.fromStack(team);
  const resources = [...entityResources(template)].sort();
  const rules = resources.map(([, { Type, Properties }]) => ({
    Type,
    Entity: Properties.Entity,
    Rights: Properties.Rights,
  }));
  assert.deepEqual(rules, [
    { Type: 'Custom::DynabusAuthorizationRule', Entity: 'events', Rights: ['Listen'] },
    { Type: 'Custom::DynabusAuthorizationRule', Entity: 'orders', Rights: ['Send', 'Listen'] },
  ]);
  const name = 'Team-Worker-ServiceRole';
  const statements = statementsOf(template, 'Worker');
  for (const { Action } of statements) {
    assert.deepEqual(Action, ['ssm:GetParameter', 'ssm:GetParameters']);
  }
  const read = statements.flatMap(({ Resource }) => pathsOf(Resource));
  assert.equal(read.length, 2);
  for (const [i, entity] of ['orders', 'events'].entries()) {
    assert.match(read[i] ?? '', new RegExp(`:parameter/dynabus/Shop/Bus/${entity}/${name}`));
  }
  const [fn] = Object.values(template.findResources('AWS::Lambda::Function'));
  // It waits for its two keys.
  assert.equal(fn?.['DependsOn'].filter((id: string) => id.includes('Dynabus')).length, 2);
  const { Environment } = only(template, 'AWS::Lambda::Function') as {
    readonly Environment: { readonly Variables: Readonly<Record<string, unknown>> };
  };
  const { Variables: variables } = Environment;
  assert.deepEqual(Object.keys(variables).sort(), [
    'AUDIT_CONNECTION_PARAMETER',
    'AUDIT_ENDPOINT',
    'AUDIT_ENTITY',
    'DYNABUS_ORDERS_CONNECTION_PARAMETER',
    'DYNABUS_ORDERS_ENDPOINT',
    'DYNABUS_ORDERS_ENTITY',
  ]);
  assert.match(
    String(variables['DYNABUS_ORDERS_CONNECTION_PARAMETER']),
    new RegExp(`^/dynabus/Shop/Bus/orders/${name}`),
  );
  assert.match(
    String(variables['AUDIT_CONNECTION_PARAMETER']),
    new RegExp(`^/dynabus/Shop/Bus/events/${name}`),
  );
  assert.equal(variables['AUDIT_ENTITY'], 'events/Subscriptions/audit');
  // No key is in a template.
  for (const one of [template, Template.fromStack(bus.node.scope as Stack)]) {
    assert.doesNotMatch(JSON.stringify(one), /SharedAccessKey=/);
  }
});

test('only the function behind the custom resources writes parameters, and only those of its broker', () => {
  const { template } = shop();
  const [statement] = statementsOf(template(), 'BusDeclare').filter(({ Action }) =>
    String(Action).includes('ssm:'),
  );
  assert.deepEqual(statement?.Action, ['ssm:PutParameter', 'ssm:DeleteParameter']);
  assert.match(JSON.stringify(statement?.Resource), /:parameter\/dynabus\/Shop\/Bus\/\*"/);
  assert.deepEqual(
    statementsOf(template(), 'BusManage').filter(({ Action }) => /ssm/.test(String(Action))),
    [],
  );
});

test('an authorization rule of its own has a parameter, and says who may read it', () => {
  const { stack, bus, template } = shop({
    amqp: {
      certificateArn: 'arn:aws:acm:eu-central-1:111122223333:certificate/1234',
      domainName: 'bus.example.com',
    },
  });
  const orders = new Queue(bus, 'Orders');
  const partner = new AuthorizationRule(orders, 'partner', { rights: ['Send'] });
  const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
  partner.grantRead(role);
  assert.equal(partner.parameterName, '/dynabus/Shop/Bus/orders/partner');
  const resource = entityResources(template()).get('Orders partner');
  assert.deepEqual(resource?.Properties.Endpoint, 'sb://bus.example.com');
  assert.equal(resource?.DeletionPolicy, 'Delete');
  assert.equal(resource?.DependsOn?.length, 1);
});

test('a grant that could not be limited, and one that nobody could use, is refused', () => {
  const url = shop({ access: 'iam', endpoint: 'functionUrl' });
  const fn = functionIn(url.stack, 'Worker');
  assert.throws(
    () => new Queue(url.bus, 'orders').grantSend(fn),
    /^SettingsError: Shop\/Bus\/orders: IAM decides about a function URL as a whole/,
  );

  const iam = shop({ access: 'iam' });
  const queue = new Queue(iam.bus, 'orders');
  assert.throws(() => new AuthorizationRule(queue, 'a', { rights: ['Send'] }), /no effect/);

  const sas = shop();
  const orders = new Queue(sas.bus, 'orders');
  const nobody = new ServicePrincipal('lambda.amazonaws.com');
  assert.throws(() => orders.grantSend(nobody), /needs a construct with a role/);
  assert.throws(
    () => new AuthorizationRule(orders, 'b', { rights: [] }),
    /Shop\/Bus\/orders\/b: rights is \[\]/,
  );
  assert.throws(
    () => new AuthorizationRule(orders, 'c', { rights: ['Root' as never] }),
    /rights is/,
  );
  assert.throws(
    () => new AuthorizationRule(orders, 'd', { rights: ['Send'], ruleName: 'a/b' }),
    /ruleName is "a\/b"/,
  );
  assert.throws(
    () => new AuthorizationRule(sas.bus, 'e', { rights: ['Send'] }),
    /belongs to no queue or topic/,
  );
  assert.throws(
    () =>
      new AuthorizationRule(Queue.fromName(sas.bus, 'a/b/c/d/e/f/g/h/i/j/k/l/m/n'), 'f', {
        rights: ['Send'],
      }),
    /has 18 levels, and Systems Manager allows 15/,
  );
  for (let i = 0; i < 12; i++) new AuthorizationRule(orders, `rule-${i}`, { rights: ['Send'] });
  assert.throws(
    () => orders.grantSend(functionIn(sas.stack, 'Thirteenth')),
    /has 12 authorization rules already/,
  );
});

test('a grant that would give nothing, and an environment that means two entities, are refused', () => {
  const iam = shop({ access: 'iam' });
  const account = new AccountPrincipal('111122223333');
  assert.throws(() => new Queue(iam.bus, 'orders').grantSend(account), /would give nothing/);
  const { stack, bus } = shop();
  const fn = functionIn(stack, 'Worker');
  const [first, second] = ['a-b', 'a_b'].map((name) => new Queue(bus, name));
  first?.addEnvironment(fn);
  first?.addEnvironment(fn);
  assert.throws(
    () => second?.addEnvironment(fn),
    /Shop\/Bus\/a_b: Shop\/Worker has the variables DYNABUS_A_B_… for Shop\/Bus\/a-b already/,
  );
  second?.addEnvironment(fn, 'OTHER');
});

test('the rule of a grant keeps its logical id whichever function is granted first', () => {
  const ids = [0, 1].map((first) => {
    const { stack, bus, template } = shop();
    const queue = new Queue(bus, 'orders');
    const role = new Role(stack, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    });
    const functions = ['A', 'B'].map((id) => functionIn(stack, id, role));
    for (const fn of first === 0 ? functions : [...functions].reverse()) queue.grantSend(fn);
    return Object.keys(template().findResources('Custom::DynabusAuthorizationRule'));
  });
  assert.equal(ids[0]?.length, 1);
  assert.deepEqual(ids[0], ids[1]);
});

test('an environment without a grant is an error of the synthesis', () => {
  const { app, stack, bus } = shop();
  new Queue(bus, 'orders').addEnvironment(functionIn(stack, 'Worker'));
  assert.throws(
    () => app.synth(),
    /\[Shop\/Worker\] It has the environment of Shop\/Bus\/orders, but no grant/,
  );
});

test('the right to send to a topic is no grant on its subscription', () => {
  const { app, stack, bus } = shop();
  const events = new Topic(bus, 'events');
  const audit = new Subscription(events, 'audit');
  const fn = functionIn(stack, 'Worker');
  events.grantSend(fn);
  audit.addEnvironment(fn);
  assert.throws(() => app.synth(), /the environment of Shop\/Bus\/events\/audit, but no grant/);
});

interface Statement {
  readonly Action: unknown;
  readonly Resource: unknown;
}

/** The statements of the default policy of a function's role. */
function statementsOf(template: Template, id: string): readonly Statement[] {
  const policies = Object.entries(template.findResources('AWS::IAM::Policy'));
  return policies
    .filter(([name]) => name.startsWith(id))
    .flatMap(([, policy]) => policy['Properties'].PolicyDocument.Statement as Statement[]);
}

/** The texts at the end of resources that are joined from tokens. */
function pathsOf(resources: unknown): readonly string[] {
  return [resources].flat().map((resource) => {
    const parts = (resource as { readonly 'Fn::Join': readonly [string, readonly unknown[]] })[
      'Fn::Join'
    ];
    return String(parts[1].at(-1));
  });
}

/** The properties of the only resource of a type. */
function only(template: Template, type: string): unknown {
  const [resource, ...others] = Object.values(template.findResources(type));
  assert.deepEqual(others, []);
  return resource?.['Properties'];
}
