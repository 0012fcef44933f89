import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import {
  Alias,
  Code,
  type IFunction,
  type IVersion,
  Function as LambdaFunction,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { Broker } from '../../../cdk/constructs/broker.ts';
import type { ConsumerProps } from '../../../cdk/entities/entity-ref.ts';
import { Queue } from '../../../cdk/entities/queue.ts';
import { Subscription } from '../../../cdk/entities/subscription.ts';
import { Topic } from '../../../cdk/entities/topic.ts';
import { answerTo, propertiesById, stackOf } from '../synthesize.ts';
import { ATTRIBUTES, entityResources, settingsOf, shop } from './app.ts';

const PUSH_ROLE = 'arn:aws:iam::111122223333:role/push';

function functionIn(stack: Stack, id: string, timeout?: Duration): IFunction {
  return new LambdaFunction(stack, id, {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = async () => {};'),
    ...(timeout && { timeout }),
  }) as IFunction;
}

interface Permission {
  readonly Action: string;
  readonly FunctionName: unknown;
  readonly Principal: unknown;
}

const permissionsOf = (template: Template) =>
  propertiesById<Permission>(template, 'AWS::Lambda::Permission');

test('a consumer is a resource that waits for its entity, and for the permission to call its function', () => {
  const { bus, stack, template } = shop({ push: true });
  const orders = new Queue(bus, 'orders');
  const worker = functionIn(stack, 'Worker', Duration.seconds(30));
  const { consumerName } = orders.addConsumer(worker, {
    maxBatch: 100,
    batchWindow: Duration.seconds(2),
    maxConcurrency: 5,
    maxPerSecond: 50,
    enabled: false,
  });
  assert.equal(consumerName, 'Worker');
  const made = template();
  const resource = entityResources(made).get('orders Worker') ?? assert.fail();
  assert.equal(resource.Type, 'Custom::DynabusConsumer');
  assert.equal(resource.DeletionPolicy, 'Delete');
  assert.match(JSON.stringify(resource.Properties.Target), /"Fn::GetAtt":\["Worker\w+","Arn"\]/);
  assert.deepEqual(settingsOf(made, 'orders Worker'), {
    maxBatch: 100,
    batchWindow: 'PT2S',
    maxConcurrency: 5,
    maxPerSecond: 50,
    enabled: false,
    timeout: 'PT30S',
  });
  const [[permissionId = '', permission] = []] = [...permissionsOf(made)].filter(([id]) =>
    id.startsWith('Worker'),
  );
  assert.equal(permission?.Action, 'lambda:InvokeFunction');
  assert.match(JSON.stringify(permission?.Principal), /BusPushWorkerRole/);
  const waitsFor = resource.DependsOn ?? [];
  assert.ok(waitsFor.includes(permissionId));
  assert.ok(waitsFor.some((id) => /^Busorders/.test(id)));
});

test('subscriptions and dead-letter queues have consumers, and a function may have many', () => {
  const { bus, stack, template } = shop({ push: true });
  const worker = functionIn(stack, 'Worker');
  const orders = new Queue(bus, 'Orders');
  const audit = new Subscription(new Topic(bus, 'events'), 'audit');
  orders.addConsumer(worker);
  orders.addConsumer(worker, { consumerName: 'second', adopt: true });
  orders.addDeadLetterConsumer(worker);
  audit.addConsumer(worker);
  audit.addDeadLetterConsumer(worker);
  Queue.fromName(bus, 'elsewhere').addConsumer(worker);
  const all = entityResources(template());
  assert.deepEqual(
    [...all].filter(([, { Type }]) => Type.endsWith('Consumer')).map(([name]) => name),
    [
      'Orders Worker',
      'Orders second',
      'Orders/$deadletterqueue Worker',
      'events/Subscriptions/audit Worker',
      'events/Subscriptions/audit/$deadletterqueue Worker',
      'elsewhere Worker',
    ],
  );
  assert.equal(all.get('Orders second')?.Properties.Adopt, 'true');
  assert.deepEqual(settingsOf(template(), 'Orders Worker'), {});
});

test('the timeout is that of the function, also behind an alias, and 10 minutes at most', () => {
  const { bus, stack, template } = shop({ push: true });
  const orders = new Queue(bus, 'orders');
  const slow = functionIn(stack, 'Slow', Duration.minutes(15));
  orders.addConsumer(slow);
  const quick = functionIn(stack, 'Quick', Duration.seconds(5)) as LambdaFunction;
  const version = quick.currentVersion as IVersion;
  const live = new Alias(stack, 'Live', { aliasName: 'live', version });
  orders.addConsumer(live as IFunction);
  orders.addConsumer(slow, { consumerName: 'given', timeout: Duration.minutes(1) });
  const timeouts = ['Slow', 'Live', 'given'].map((name) =>
    settingsOf(template(), `orders ${name}`),
  );
  assert.deepEqual(timeouts, [{ timeout: 'PT10M' }, { timeout: 'PT5S' }, { timeout: 'PT1M' }]);
  const target = entityResources(template()).get('orders Live')?.Properties.Target;
  assert.match(JSON.stringify(target), /"Ref":"Live/);
  const permission = [...permissionsOf(template())].find(([id]) => id.startsWith('Live'))?.[1];
  assert.match(JSON.stringify(permission?.FunctionName), /"Ref":"Live/);
});

test('a function of another stack than its entity makes no circle', () => {
  const { app, bus } = shop({ push: true });
  const orders = new Queue(bus, 'orders');
  const other = new Stack(app, 'Other');
  orders.addConsumer(functionIn(other, 'Worker'));
  const made = Template.fromStack(other);
  assert.ok(entityResources(made).has('orders Worker'));
  assert.equal(permissionsOf(made).size, 1);
});

test('a bus of another app calls functions by the role that its attributes name', () => {
  const env = { account: '111122223333', region: 'eu-central-1' };
  const stack = stackOf({ env });
  const attributes = { ...ATTRIBUTES, pushRoleArn: PUSH_ROLE };
  const bus = Broker.fromBrokerAttributes(stack, 'Bus', attributes);
  Queue.fromName(bus, 'orders').addConsumer(functionIn(stack, 'Worker'));
  const [permission] = permissionsOf(Template.fromStack(stack)).values();
  assert.equal(permission?.Principal, PUSH_ROLE);
});

test('what deployment would refuse is an error of the synthesis, with what to do', () => {
  const { bus, stack } = shop({ push: true });
  const worker = functionIn(stack, 'Worker');
  const orders = new Queue(bus, 'orders');
  const forwards = new Queue(bus, 'forwards', { forwardTo: orders });
  const at = "Shop/Bus/orders: The consumer 'Worker'";
  const add = (props: object) => answerTo(() => orders.addConsumer(worker, props as ConsumerProps));
  for (const [props, sentence] of [
    [{ maxBatch: 0 }, `${at}: maxBatch: `],
    [{ batchWindow: Duration.minutes(6) }, `${at}: batchWindow: `],
    [{ timeout: Duration.minutes(11) }, `${at}: timeout: `],
    [{ maxConcurrency: 'x' }, `${at}: maxConcurrency: `],
    [{ batch: 1 }, `${at}: batch: `],
    [{ adopt: 'yes' }, `${at}: adopt: It must be true or false, not "yes".`],
    [{ consumerName: 'a/b' }, "Shop/Bus/orders: The consumer 'a/b': consumerName: "],
  ] as const) {
    const { bus: fresh, stack: own } = shop({ push: true });
    const queue = new Queue(fresh, 'orders');
    const answer = answerTo(() =>
      queue.addConsumer(functionIn(own, 'Worker'), props as ConsumerProps),
    );
    assert.ok(answer.startsWith(sentence), answer);
  }
  orders.addConsumer(worker);
  assert.match(add({}), /Worker is its consumer 'Worker' already: set another consumerName\./);
  const nested = new Stack(stack, 'Inner');
  assert.match(
    answerTo(() => orders.addConsumer(functionIn(nested, 'worker'))),
    /The consumer 'worker' is declared twice, and case does not count/,
  );
  assert.match(
    answerTo(() => forwards.addConsumer(worker)),
    /would get nothing, since the entity forwards its messages: give the consumer to/,
  );
  forwards.addDeadLetterConsumer(worker);
  assert.match(
    answerTo(() => orders.addConsumer({} as IFunction)),
    /^Shop\/Bus\/orders: The target of a consumer must be a function of aws-cdk-lib/,
  );
  for (let i = 2; i <= 10; i++) orders.addDeadLetterConsumer(worker, { consumerName: `c${i}` });
  assert.match(add({ consumerName: 'last' }), /one too many: an entity may have 10 consumers/);
});

test('a broker that does not push refuses consumers', () => {
  const { bus, stack } = shop();
  const sentence =
    "Shop/Bus/orders: The consumer 'Worker' would get nothing, since Shop/Bus does not push messages: set push: true in its properties, or pushRoleArn in the attributes of fromBrokerAttributes.";
  const orders = new Queue(bus, 'orders');
  assert.equal(
    answerTo(() => orders.addConsumer(functionIn(stack, 'Worker'))),
    sentence,
  );
});
