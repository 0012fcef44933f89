import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Aws, Lazy, NestedStack, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { BrokerProps } from '../../cdk/broker-props.ts';
import { Broker } from '../../cdk/constructs/broker.ts';
import type { IBroker } from '../../cdk/constructs/broker-ref.ts';
import { ATTRIBUTES } from './entities/app.ts';
import { AMQP, answerTo, brokerOf, stackOf, synthesize } from './synthesize.ts';

/** What describes the broker of another app. */
const OTHER = { ...ATTRIBUTES, access: 'iam' } as const;

/** The statements of the policy of a role that may manage the broker. */
function statementsOf(bus: IBroker): unknown {
  const stack = Stack.of(bus);
  const role = new Role(stack, 'Caller', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
  const grant = bus.grantManage(role);
  grant.assertSuccess();
  const policies = Template.fromStack(stack).findResources('AWS::IAM::Policy', {
    Properties: { Roles: [{ Ref: Match.stringLikeRegexp('^Caller') }] },
  });
  const [policy] = Object.values(policies);
  return policy?.['Properties'].PolicyDocument.Statement;
}

test('the tables and the root key of a deployed stage keep their logical ids: with others, their data would be lost', () => {
  const template = synthesize();
  const idsOf = (type: string) => Object.keys(template.findResources(type));
  assert.deepEqual(idsOf('AWS::DynamoDB::Table'), [
    'TablesEntitiesBC6B9C5A',
    'TablesMessages5F3A57D1',
  ]);
  assert.deepEqual(idsOf('AWS::SecretsManager::Secret'), ['RootKeyEC9149F6']);
});

test('a broker needs no settings, and has those of a stage', () => {
  const bus = brokerOf();
  const { tier, access, endpointType, keepData } = bus;
  assert.deepEqual(
    { tier, access, endpointType, keepData },
    { tier: 'Standard', access: 'sas', endpointType: 'apiGateway', keepData: true },
  );
  assert.equal(bus.tables.length, 2);
  assert.ok(bus.rootKey);
  assert.equal(bus.amqpLoadBalancer, undefined);
  const ofStage = synthesize().toJSON();
  const typesOf = ({ Resources }: { readonly Resources: Record<string, { Type: string }> }) =>
    Object.values(Resources)
      .map(({ Type }) => Type)
      .sort();
  const template = Template.fromStack(Stack.of(bus)).toJSON();
  assert.deepEqual(
    typesOf(template as Parameters<typeof typesOf>[0]),
    typesOf(ofStage as Parameters<typeof typesOf>[0]),
  );
});

test('a broker adds no outputs to the stack of its user', () => {
  const bus = brokerOf({ amqp: AMQP });
  assert.ok(bus.amqpLoadBalancer);
  assert.deepEqual(Template.fromStack(Stack.of(bus)).findOutputs('*'), {});
});

test('two brokers of one stack have names of their own, made of stack and path', () => {
  const stack = stackOf();
  const inner = new Construct(stack, 'Inner');
  const [a, b] = [new Broker(stack, 'Bus'), new Broker(inner, 'Bus')];
  assert.match(a.namespace, /^Shop-Bus-[0-9A-F]{8}$/);
  assert.match(b.namespace, /^Shop-Inner-Bus-[0-9A-F]{8}$/);
  assert.equal(a.parameterPrefix, '/dynabus/Shop/Bus');
  assert.match(b.parameterPrefix, /^\/dynabus\/Shop\/Shop-Inner-Bus-[0-9A-F]{8}$/);
  Template.fromStack(stack).resourceCountIs('AWS::DynamoDB::Table', 4);
});

test('a broker of a nested stack, of a long path or with a strange id has a good name', () => {
  const stack = stackOf({ stackName: 'shop-prod' });
  const nested = new Broker(new NestedStack(stack, 'Nested'), 'Bus');
  assert.match(nested.namespace, /^shop-prod-Nested-Bus-[0-9A-F]{8}$/);
  assert.match(nested.parameterPrefix, /^\/dynabus\/shop-prod\/shop-prod-Nested-Bus-[0-9A-F]{8}$/);
  const strange = new Broker(new Construct(stack, 'a'.repeat(100)), 'Bus & more');
  assert.match(strange.namespace, /^[a-zA-Z][a-zA-Z0-9-]{1,49}$/);
  assert.match(strange.parameterPrefix, /^(?:\/[\w.-]+){3}$/);
});

test('a broker has a namespace where the stack has a name of one letter, which alone is none', () => {
  for (const [stackName, namespace] of [
    ['S', 'S-Default'],
    ['Shop', 'Shop'],
  ] as const) {
    assert.equal(new Broker(stackOf({ stackName }), 'Default').namespace, namespace);
  }
});

test('a certificate of another region than the stack is refused, as load balancers take none', () => {
  const certificateArn = AMQP.certificateArn;
  const env = { account: '111122223333', region: 'us-east-1' };
  assert.throws(() => brokerOf({ amqp: { ...AMQP, certificateArn } }, { env }), {
    name: 'SettingsError',
    message:
      'Shop/Bus: amqp.certificateArn is a certificate in eu-central-1, but the stack is in us-east-1: take a certificate of that region.',
  });
  const here = { ...env, region: 'eu-central-1' };
  assert.ok(brokerOf({ amqp: { ...AMQP, certificateArn } }, { env: here }).amqpLoadBalancer);
});

test('a setting that is a token is called one, and not by what stands for it', () => {
  const tokens = {
    sweepMinutes: Lazy.number({ produce: () => 1 }),
    tier: Lazy.string({ produce: () => 'Basic' }),
    throttle: { rate: Lazy.number({ produce: () => 1 }) },
  };
  assert.equal(
    answerTo(() => brokerOf(tokens as object)),
    'Shop/Bus: tier is a token, which deployment replaces, but must be Standard, Basic or Premium.\n' +
      'Shop/Bus: sweepMinutes is a token, which deployment replaces, but must be a whole number from 1 to 60.\n' +
      'Shop/Bus: throttle.rate is a token, which deployment replaces, but must be a whole number of at least 1.',
  );
});

test('a property that is undefined has its default', () => {
  const props = { namespace: undefined, tier: undefined, amqp: undefined } as object;
  assert.equal(brokerOf(props).tier, 'Standard');
  assert.match(brokerOf(props).namespace, /^Shop-Bus-/);
});

test('references to other resources may be known at deployment only', () => {
  const stack = stackOf();
  const topic = new Topic(stack, 'Alarms');
  new Broker(stack, 'Bus', {
    alarmTopicArn: topic.topicArn,
    amqp: { ...AMQP, certificateArn: `arn:aws:acm:${Aws.REGION}:111122223333:certificate/1` },
  });
  Template.fromStack(stack).hasResourceProperties('AWS::CloudWatch::Alarm', {
    AlarmActions: [{ Ref: Match.stringLikeRegexp('^Alarms') }],
  });
});

/** Wrong properties, and what the error says. */
const WRONG: readonly (readonly [string, object, string])[] = [
  [
    'a value out of range',
    { sweepMinutes: 0 },
    'Shop/Bus: sweepMinutes is 0, but must be a whole number from 1 to 60.',
  ],
  [
    'several wrong values',
    { tier: 'standard', amqp: { domainName: 'bus.example.com', cpu: 3 } },
    'Shop/Bus: tier is "standard", but must be Standard, Basic or Premium.\n' +
      'Shop/Bus: amqp.certificateArn is missing, but must be the ARN of a certificate in ACM, such as arn:aws:acm:eu-west-1:111122223333:certificate/1a2b.\n' +
      'Shop/Bus: amqp.cpu is 3, but must be 256, 512, 1024 or 2048.',
  ],
  [
    'an unknown property',
    { keepDate: true },
    'Shop/Bus: keepDate is not a setting of a Broker, which may have namespace, tier, access, endpoint, keepData, pointInTimeRecovery, logRetentionDays, memoryMb, reservedConcurrency, receiveWaitMsMax, sweepMinutes, throttle, accessLogs, platformLogs, tracing, streamWakeUps, push, alarmTopicArn and amqp: write keepData instead, or remove it.',
  ],
  [
    'an unknown property of a group',
    { throttle: { perMinute: 1 } },
    'Shop/Bus: throttle.perMinute is not a setting of throttle, which may have rate and burst: remove it.',
  ],
  [
    'a setting without effect',
    { endpoint: 'functionUrl', memoryMb: { send: 512 } },
    'Shop/Bus: memoryMb.send is 512, but must be left out while endpoint is functionUrl, since its one function, manage, serves all requests.',
  ],
  [
    'nothing for a namespace',
    { namespace: null },
    'Shop/Bus: namespace is null, but must be a name of 2 to 50 letters, digits and hyphens that begins with a letter.',
  ],
  [
    'a network to look up, in a stack without account and region',
    { amqp: { ...AMQP, vpcId: 'vpc-0a1b2c3d' } },
    'Shop/Bus: amqp.vpcId is looked up in your AWS account, but the stack has no account or no region: add env with both to the properties of the stack, or leave amqp.vpcId out.',
  ],
];

for (const [what, props, sentence] of WRONG) {
  test(`in the properties of a Broker, ${what}: the error names its path, the value and what is allowed`, () => {
    assert.equal(
      answerTo(() => brokerOf(props as BrokerProps)),
      sentence,
    );
  });
}

test('grantManage under iam access allows every method and path of the endpoint, and nothing else', () => {
  const bus = brokerOf({ access: 'iam' });
  assert.equal(bus.rootKey, undefined);
  const [statement, ...others] = statementsOf(bus) as readonly Record<string, unknown>[];
  assert.deepEqual(others, []);
  assert.equal(statement?.['Action'], 'execute-api:Invoke');
  assert.match(JSON.stringify(statement?.['Resource']), /:execute-api:.*\/\$default\/\*"/);
});

test('grantManage of a function URL allows calls through the URL, and no direct ones', () => {
  const bus = brokerOf({ access: 'iam', endpoint: 'functionUrl' });
  const statements = statementsOf(bus) as readonly Record<string, unknown>[];
  const Resource = statements[0]?.['Resource'];
  assert.match(JSON.stringify(Resource), /^\{"Fn::GetAtt":\["BusManage\w+","Arn"\]\}$/);
  assert.deepEqual(statements, [
    {
      Action: 'lambda:InvokeFunctionUrl',
      Condition: { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } },
      Effect: 'Allow',
      Resource,
    },
    {
      Action: 'lambda:InvokeFunction',
      Condition: { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
      Effect: 'Allow',
      Resource,
    },
  ]);
});

test('grantManage under sas access allows reading the root key', () => {
  const [statement, ...others] = statementsOf(brokerOf()) as readonly Record<string, unknown>[];
  assert.deepEqual(others, []);
  assert.deepEqual(statement?.['Action'], [
    'secretsmanager:GetSecretValue',
    'secretsmanager:DescribeSecret',
  ]);
  assert.match(JSON.stringify(statement?.['Resource']), /^\{"Ref":"BusRootKey\w+"\}$/);
});

test('a broker of another app is known by its attributes, and grants the same', () => {
  const bus = Broker.fromBrokerAttributes(stackOf(), 'Bus', OTHER);
  for (const [name, value] of Object.entries(OTHER)) {
    assert.equal(bus[name as keyof typeof OTHER], value, name);
  }
  const [statement] = statementsOf(bus) as readonly Record<string, unknown>[];
  assert.equal(statement?.['Resource'], `${OTHER.invokeArn}/*`);
});

test('a broker of another app with keys grants what it is given the root key for', () => {
  const rootKeySecretArn = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:Key-a1b2c3';
  const attributes = { ...OTHER, access: 'sas' } as const;
  const known = Broker.fromBrokerAttributes(stackOf(), 'Bus', { ...attributes, rootKeySecretArn });
  const [statement] = statementsOf(known) as readonly Record<string, unknown>[];
  assert.equal(statement?.['Resource'], rootKeySecretArn);
  const unknown = Broker.fromBrokerAttributes(stackOf(), 'Bus', attributes);
  assert.throws(() => statementsOf(unknown), {
    message:
      'Shop/Bus: grantManage needs the root key of the broker: add rootKeySecretArn to the attributes of fromBrokerAttributes.',
  });
});
