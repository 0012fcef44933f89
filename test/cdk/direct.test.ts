import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { Broker } from '../../cdk/constructs/broker.ts';
import { DIRECT_RIGHTS } from '../../cdk/functions.ts';
import { readDirectOptions } from '../../connect/direct/read-direct-options.ts';
import { answerTo, brokerOf } from './synthesize.ts';

/** The rights of a process that uses the tables itself, and what it must know. */

interface Statement {
  readonly Action: readonly string[];
  readonly Resource: unknown;
}

/** The statements of a role that may use the tables of a broker. */
function grantedTo(scope: Construct, bus: Broker): readonly Statement[] {
  const role = new Role(scope, 'Caller', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
  bus.grantDirect(role).assertSuccess();
  const policies = Template.fromStack(Stack.of(scope)).findResources('AWS::IAM::Policy');
  const [policy] = Object.entries(policies).filter(([id]) => id.startsWith('Caller'));
  return policy?.[1]['Properties'].PolicyDocument.Statement;
}

test('grantDirect allows the actions of the AMQP surface on both tables, and nothing on the secret', () => {
  const bus = brokerOf();
  const [entities, messages, ...others] = grantedTo(Stack.of(bus), bus);
  assert.deepEqual(others, []);
  assert.deepEqual(entities?.Action, DIRECT_RIGHTS.entities);
  assert.deepEqual(messages?.Action, DIRECT_RIGHTS.messages);
  assert.match(
    JSON.stringify(entities?.Resource),
    /^\{"Fn::GetAtt":\["BusTablesEntities\w+","Arn"\]\}$/,
  );
  assert.match(
    JSON.stringify(messages?.Resource),
    /^\{"Fn::GetAtt":\["BusTablesMessages\w+","Arn"\]\}$/,
  );
});

test('grantDirect works for a role of another stack, and refuses a role that it cannot change', () => {
  const bus = brokerOf();
  const other = new Stack(Stack.of(bus).node.root, 'Other');
  assert.match(JSON.stringify(grantedTo(other, bus)), /"Fn::ImportValue":"Shop:ExportsOutput/);
  const imported = Role.fromRoleArn(bus, 'Imported', 'arn:aws:iam::111122223333:role/other', {
    mutable: false,
  });
  assert.match(
    answerTo(() => bus.grantDirect(imported)),
    /^Shop\/Bus: The grantee has no role /,
  );
});

test('directSettings are what a process reads, in this stack and in another', () => {
  const bus = brokerOf({ tier: 'Premium' });
  const own = Stack.of(bus);
  for (const stack of [own, new Stack(own.node.root, 'Other')]) {
    new LambdaFunction(stack, 'Worker', {
      runtime: Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: Code.fromInline('exports.handler = () => {};'),
      environment: { DYNABUS_DIRECT: bus.directSettings },
    });
  }
  for (const stack of [own, own.node.root.node.findChild('Other') as Stack]) {
    const [worker] = Object.entries(
      Template.fromStack(stack).findResources('AWS::Lambda::Function'),
    ).filter(([id]) => id.startsWith('Worker'));
    assert.ok(worker);
    const { DYNABUS_DIRECT: value } = worker[1]['Properties'].Environment.Variables;
    assert.deepEqual(readDirectOptions(deployed(value), 'It'), {
      entitiesTable: 'TablesEntities',
      messagesTable: 'TablesMessages',
      namespace: bus.namespace,
      tier: 'Premium',
    });
  }
});

/** A value as CloudFormation writes it, where each reference gives the name of its resource. */
function deployed(value: unknown): string {
  if (typeof value === 'string') return value;
  const [kind, argument] = Object.entries(value as object)[0] ?? [];
  if (kind === 'Fn::Join') return argument[1].map(deployed).join(argument[0]);
  const [name] = /Tables(?:Entities|Messages)/.exec(String(argument)) ?? [];
  assert.ok(name, JSON.stringify(value));
  return name;
}
