import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic as SnsTopic } from 'aws-cdk-lib/aws-sns';
import { Queue as SqsQueue } from 'aws-cdk-lib/aws-sqs';
import { Broker } from '../../../cdk/constructs/broker.ts';
import { AuthorizationRule } from '../../../cdk/entities/authorization-rule.ts';
import { Queue } from '../../../cdk/entities/queue.ts';
import { Rule } from '../../../cdk/entities/rule.ts';
import { Subscription } from '../../../cdk/entities/subscription.ts';
import { Topic } from '../../../cdk/entities/topic.ts';
import { SettingsError } from '../../../cdk/setting-faults.ts';
import { ATTRIBUTES, functionIn, shop } from './app.ts';

/** What synthesis refuses, so that no deployment fails, or seems to do what it does not. */

const ENV = { account: '111122223333', region: 'eu-central-1' };
const ABROAD = { ...ENV, region: 'us-east-1' };
const FOREIGN = { ...ENV, account: '444455556666' };

/** Fails unless something is refused with this sentence. */
function refuses(make: () => unknown, sentence: string): void {
  assert.throws(make, (error) => {
    assert.ok(error instanceof SettingsError, String(error));
    assert.equal(error.message, sentence);
    return true;
  });
}

test('an id that is taken is refused in words, with the property that has the name', () => {
  const { bus } = shop();
  const topic = new Topic(bus, 'events');
  const audit = new Subscription(topic, 'audit');
  for (const id of [
    'Alarms',
    'Declare',
    'Http',
    'Manage',
    'Receive',
    'RootKey',
    'Send',
    'Tables',
  ]) {
    refuses(
      () => new Queue(bus, id),
      `Shop/Bus/${id}: The id '${id}' is taken in Shop/Bus: choose another id and set queueName.`,
    );
  }
  const at = 'Shop/Bus/events';
  refuses(
    () => new Topic(bus, 'Sweep'),
    "Shop/Bus/Sweep: The id 'Sweep' is taken in Shop/Bus: choose another id and set topicName.",
  );
  refuses(
    () => new Subscription(topic, 'Resource'),
    `${at}/Resource: The id 'Resource' is taken in ${at}: choose another id and set subscriptionName.`,
  );
  refuses(
    () => new AuthorizationRule(topic, 'audit', { rights: ['Send'] }),
    `${at}/audit: The id 'audit' is taken in ${at}: choose another id and set ruleName.`,
  );
  refuses(
    () => new Rule(audit, 'Resource'),
    `${at}/audit/Resource: The id 'Resource' is taken in ${at}/audit: choose another id and set ruleName.`,
  );
  assert.equal(new Queue(bus, 'OfAlarms', { queueName: 'Alarms' }).entityPath, 'Alarms');
});

test('queues and topics of other packages are no entities, and are called what they are', () => {
  const { stack, bus } = shop();
  const mail = new SqsQueue(stack, 'Mail');
  const news = new SnsTopic(stack, 'News');
  const kind = 'forwardTo: It must be a Queue or a Topic of dynabus, or one by fromName, and not';
  refuses(
    () => new Queue(bus, 'a', { forwardTo: mail as never }),
    `Shop/Bus/a: ${kind} Shop/Mail, which is no entity of a broker.`,
  );
  refuses(
    () => new Queue(bus, 'b', { forwardTo: news as never }),
    `Shop/Bus/b: ${kind} Shop/News, which is no entity of a broker.`,
  );
  refuses(
    () => new Queue(bus, 'c', { forwardTo: 'orders' as never }),
    `Shop/Bus/c: ${kind} "orders".`,
  );
  refuses(
    () => new AuthorizationRule(mail, 'd', { rights: ['Send'] }),
    'Shop/Mail/d: It belongs to no queue or topic of dynabus: create it in one, or set entity.',
  );
  refuses(
    () => new AuthorizationRule(stack, 'e', { rights: ['Send'], entity: mail as never }),
    'Shop/e: It belongs to no queue or topic of dynabus: create it in one, or set entity.',
  );
  refuses(
    () => new Subscription(news, 'f'),
    'Shop/News/f: It has no topic: create it in a Topic, or set topic in its properties.',
  );
});

test('what CloudFormation could not do with an entity is refused', () => {
  const { bus } = shop();
  refuses(
    () => new Queue(bus, 'a', { removalPolicy: RemovalPolicy.SNAPSHOT, adoptFrom: 1 as never }),
    'Shop/Bus/a: adoptFrom: It must be the name of a stack, not 1.\n' +
      'Shop/Bus/a: removalPolicy: It cannot be SNAPSHOT, since there are no snapshots of entities: set DESTROY, RETAIN or RETAIN_ON_UPDATE_OR_DELETE.',
  );
});

test('an entity or a rule in another region or account than its broker is refused', () => {
  const { app } = shop();
  const bus = new Broker(new Stack(app, 'Home', { env: ENV }), 'Bus');
  const advice = "declare it in a stack of the broker's account and region.";
  for (const [id, env] of Object.entries({ ABROAD, FOREIGN })) {
    const stack = new Stack(app, id, { env });
    const imported = Broker.fromBrokerAttributes(stack, 'Bus', ATTRIBUTES);
    for (const broker of [bus, imported]) {
      const name = `of-${broker.node.scope?.node.id}`;
      refuses(
        () => new Queue(stack, name, { broker }),
        `${id}/${name}: Its stack is in account ${env.account} and region ${env.region}, but the broker in ${ENV.account} and ${ENV.region}: ${advice}`,
      );
    }
  }
  const abroad = new Stack(app, 'Rules', { env: ABROAD });
  assert.throws(
    () => Queue.fromName(bus, 'orders').grantSend(functionIn(abroad, 'Worker')),
    /^SettingsError: Rules\/Worker\/ServiceRole\/.+: Its stack is in account 111122223333 and region us-east-1/,
  );
  const anywhere = new Stack(app, 'Anywhere');
  assert.equal(new Queue(anywhere, 'q', { broker: bus }).entityPath, 'q');
});

test('a grant to a role that CDK leaves as it is is refused', () => {
  const arn = 'arn:aws:iam::111122223333:role/Worker';
  for (const access of ['sas', 'iam'] as const) {
    const { app } = shop();
    const stack = new Stack(app, 'Home', { env: ENV });
    const bus = new Broker(stack, 'Bus', { access });
    const queue = new Queue(bus, 'orders');
    const fixed = Role.fromRoleArn(stack, 'Fixed', arn, { mutable: false });
    const foreign = Role.fromRoleArn(stack, 'Foreign', arn.replace('111122223333', '444455556666'));
    for (const role of [fixed, foreign]) {
      refuses(
        () => queue.grantSend(role),
        'Home/Bus/orders: The grantee has no role whose policies this app can change, so the grant would give nothing: grant to a role of this app.',
      );
    }
    assert.ok(queue.grantSend(Role.fromRoleArn(stack, 'Changed', arn)).success);
    assert.ok(queue.grantSend(functionIn(stack, 'Worker')).success);
  }
});

test('a grant of everything that would give nothing is refused under iam access', () => {
  for (const endpoint of ['apiGateway', 'functionUrl'] as const) {
    const { bus, stack } = shop({ access: 'iam', endpoint });
    refuses(
      () => bus.grantManage(new ServicePrincipal('lambda.amazonaws.com')),
      'Shop/Bus: The grantee has no role whose policies this app can change, so the grant would give nothing: grant to a role of this app.',
    );
    assert.ok(bus.grantManage(functionIn(stack, 'Worker')).success);
  }
});

test('under sas access a function and its role lie in a stack that that of the bus does not use', () => {
  const assumedBy = new ServicePrincipal('lambda.amazonaws.com');
  const grantIn = (home: 'Shop' | 'Team' | 'Own', access: 'sas' | 'iam', roleIn?: string) => {
    const { app, stack, bus } = shop({ access });
    const team = new Stack(app, 'Team');
    const stacks = { Shop: stack, Team: team, Own: new Stack(app, 'Own') };
    const queue = new Queue(roleIn === undefined ? team : stack, 'orders', { broker: bus });
    const role =
      roleIn === undefined ? undefined : new Role(new Stack(app, roleIn), 'Role', { assumedBy });
    queue.grantListen(functionIn(stacks[home], 'Worker', role));
    return app.synth().stacks.length;
  };
  assert.throws(() => grantIn('Shop', 'sas'), /cyclic/);
  assert.throws(() => grantIn('Shop', 'sas', 'Base'), /cyclic/);
  assert.equal(grantIn('Team', 'sas'), 3);
  assert.equal(grantIn('Own', 'sas'), 3);
  assert.equal(grantIn('Shop', 'iam'), 3);
});
