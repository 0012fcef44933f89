import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { STREAM_RIGHTS } from '../../cdk/functions.ts';
import { GATEWAY_VARIABLES } from '../../gateway/variables.ts';
import { AMQP, brokerOf, propertiesById, synthesize } from './synthesize.ts';

interface Policy {
  readonly PolicyDocument: {
    readonly Statement: readonly {
      readonly Action: string | readonly string[];
      readonly Resource: unknown;
    }[];
  };
}

const template = synthesize({ amqp: AMQP, streamWakeUps: true });

/** The statements about streams, by the beginning of the policy's id. */
function aboutStreams(of: Template): readonly (readonly [string, string, string])[] {
  return [...propertiesById<Policy>(of, 'AWS::IAM::Policy')].flatMap(([id, { PolicyDocument }]) =>
    PolicyDocument.Statement.filter(({ Action }) => /Stream|Describe|Shard/.test(String(Action)))
      .filter(({ Action }) => String(Action).includes('dynamodb:'))
      .map(({ Action, Resource }) => {
        const name = /^[A-Z][a-z]+/.exec(id)?.[0] ?? id;
        return [name, [Action].flat().join(' '), JSON.stringify(Resource)] as const;
      }),
  );
}

const RIGHTS = [STREAM_RIGHTS.stream.join(' '), STREAM_RIGHTS.table.join(' ')];

test('with streamWakeUps the messages table alone has a stream, of the items after each change', () => {
  const tables = propertiesById<{ StreamSpecification?: unknown }>(
    template,
    'AWS::DynamoDB::Table',
  );
  assert.deepEqual(
    [...tables].map(([id, { StreamSpecification }]) => [
      id.startsWith('TablesMessages'),
      StreamSpecification,
    ]),
    [
      [false, undefined],
      [true, { StreamViewType: 'NEW_IMAGE' }],
    ],
  );
});

test('with streamWakeUps the gateway may read the stream and is told to; no function may', () => {
  const statements = aboutStreams(template);
  assert.deepEqual(
    statements.map(([policy, actions]) => [policy, actions]),
    RIGHTS.map((actions) => ['Amqp', actions]),
  );
  assert.match(statements[0]?.[2] ?? '', /TablesMessages\w+","StreamArn"/);
  assert.match(statements[1]?.[2] ?? '', /TablesMessages\w+","Arn"/);
  const told = `{"Name":"${GATEWAY_VARIABLES.streamWakeUps}","Value":"true"}`;
  assert.ok(JSON.stringify(template.toJSON()).includes(told));
});

test('without streamWakeUps nobody may read a stream, and the gateway is not told to', () => {
  const plain = synthesize({ amqp: AMQP });
  assert.deepEqual(aboutStreams(plain), []);
  assert.ok(!JSON.stringify(plain.toJSON()).includes(GATEWAY_VARIABLES.streamWakeUps));
});

test('grantDirect allows to read the stream that there is', () => {
  for (const streamWakeUps of [false, true]) {
    const bus = brokerOf({ streamWakeUps });
    const scope = Stack.of(bus);
    const assumedBy = new ServicePrincipal('ec2.amazonaws.com');
    bus.grantDirect(new Role(scope, 'Caller', { assumedBy })).assertSuccess();
    const granted = aboutStreams(Template.fromStack(scope)).map(([, actions]) => actions);
    assert.deepEqual(granted, streamWakeUps ? RIGHTS : []);
  }
});
