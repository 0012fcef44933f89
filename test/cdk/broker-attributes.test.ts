import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Aws, Fn, Lazy } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Broker } from '../../cdk/constructs/broker.ts';
import type { BrokerAttributes, IBroker } from '../../cdk/constructs/broker-ref.ts';
import { Queue } from '../../cdk/entities/queue.ts';
import { ATTRIBUTES, entityResources } from './entities/app.ts';
import { answerTo, stackOf } from './synthesize.ts';

/** A broker of another app with some attributes wrong. */
function describe(wrong: object): IBroker {
  const attributes = { ...ATTRIBUTES, ...wrong } as BrokerAttributes;
  return Broker.fromBrokerAttributes(stackOf(), 'Bus', attributes);
}

const TOKEN = Lazy.any({ produce: () => true });

test('wrong attributes of a broker are refused, all of them, in words', () => {
  const { tier: _, keepData: __, ...incomplete } = ATTRIBUTES;
  assert.equal(
    answerTo(() =>
      Broker.fromBrokerAttributes(stackOf(), 'Bus', incomplete as unknown as BrokerAttributes),
    ),
    'Shop/Bus: tier is missing, but must be Standard, Basic or Premium.\n' +
      'Shop/Bus: keepData is missing, but must be true or false, without quotes.',
  );
  for (const [wrong, sentence] of [
    [{ access: 'IAM' }, 'access is "IAM", but must be sas or iam.'],
    [
      { access: Fn.importValue('Access') },
      'access is a token, which deployment replaces, but must',
    ],
    [{ tier: Fn.importValue('Tier') }, 'tier is a token, which deployment replaces, but must'],
    [{ keepData: TOKEN }, 'keepData is a token, which deployment replaces, but must'],
    [{ endpointType: 'http' }, 'endpointType is "http", but must be apiGateway or functionUrl.'],
    [{ url: 'https://bus.example.com/' }, 'url is "https://bus.example.com/", but must be'],
    [{ invokeArn: 'arn:aws:execute-api' }, 'invokeArn is "arn:aws:execute-api", but must be'],
    [{ invokeArn: `${ATTRIBUTES.invokeArn}/*` }, 'invokeArn is "arn:aws:execute-api:'],
    [{ parameterPrefix: '/dynabus/' }, 'parameterPrefix is "/dynabus/", but must be'],
    [{ entityServiceToken: 'declare' }, 'entityServiceToken is "declare", but must be'],
    [{ pushRoleArn: 'role' }, 'pushRoleArn is "role", but must be the pushRoleArn of a Broker'],
    [{ amqpDomainName: 'sb://bus' }, 'amqpDomainName is "sb://bus", but must be'],
    [{ rootKeySecretArn: 'secret' }, 'rootKeySecretArn is "secret", but must be'],
    [{ endpoint: 'apiGateway' }, 'endpoint is not a setting of fromBrokerAttributes, which may'],
  ] as const) {
    const answer = answerTo(() => describe(wrong));
    assert.ok(answer.startsWith(`Shop/Bus: ${sentence}`), answer);
    assert.equal(answer.split('\n').length, 1);
  }
});

test('attributes that deployment replaces are taken where they say nothing that synthesis needs', () => {
  const value = Fn.importValue('Value');
  const bus = describe({
    namespace: value,
    url: value,
    invokeArn: value,
    parameterPrefix: value,
    entityServiceToken: `arn:aws:lambda:${Aws.REGION}:${Aws.ACCOUNT_ID}:function:declare`,
    amqpDomainName: value,
    rootKeySecretArn: value,
  });
  assert.equal(bus.invokeArn, value);
  const named = describe({
    invokeArn: 'arn:aws:lambda:eu-central-1:111122223333:function:manage',
    amqpDomainName: 'bus.example.xn--p1ai',
    rootKeySecretArn: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:Key-a1b2c3',
  });
  assert.equal(named.amqpDomainName, 'bus.example.xn--p1ai');
});

test('entities of a broker go only if it says that it does not keep them', () => {
  for (const [keepData, policy] of [
    [true, 'RetainExceptOnCreate'],
    [false, 'Delete'],
  ] as const) {
    const bus = describe({ keepData });
    new Queue(bus, 'orders');
    const template = Template.fromStack(bus.node.scope as never);
    assert.equal(entityResources(template).get('orders')?.DeletionPolicy, policy);
  }
});
