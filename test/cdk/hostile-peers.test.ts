import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { GATEWAY_VARIABLES } from '../../gateway/variables.ts';
import { AMQP, propertiesById, synthesize } from './synthesize.ts';

const gateway = synthesize({ amqp: AMQP });

/** The attributes of the one resource of a kind, by their names. */
function attributesOf(template: Template, kind: 'LoadBalancer' | 'TargetGroup') {
  const type = `AWS::ElasticLoadBalancingV2::${kind}`;
  const [properties] = propertiesById<
    Readonly<Record<string, readonly { readonly Key: string; readonly Value: string }[]>>
  >(template, type).values();
  const attributes = properties?.[`${kind}Attributes`] ?? [];
  return new Map(attributes.map(({ Key, Value }) => [Key, Value]));
}

/** What tasks of the gateway are told, by the names of the variables. */
function toldTo(template: Template): ReadonlyMap<string, unknown> {
  const [definition] = propertiesById<{
    readonly ContainerDefinitions: readonly {
      readonly Environment: readonly { readonly Name: string; readonly Value: unknown }[];
    }[];
  }>(template, 'AWS::ECS::TaskDefinition').values();
  const told = definition?.ContainerDefinitions[0]?.Environment ?? [];
  return new Map(told.map(({ Name, Value }) => [Name, Value]));
}

test('row 21: the load balancer tells the tasks who the client is, and speaks TLS with them', () => {
  assert.equal(attributesOf(gateway, 'TargetGroup').get('proxy_protocol_v2.enabled'), 'true');
  gateway.hasResourceProperties('AWS::ElasticLoadBalancingV2::TargetGroup', { Protocol: 'TLS' });
});

test('row 21: the load balancer of a stage that keeps its data refuses deletion', () => {
  const attribute = 'deletion_protection.enabled';
  assert.equal(attributesOf(gateway, 'LoadBalancer').get(attribute), 'true');
  const passing = synthesize({ amqp: AMQP, keepData: false });
  assert.equal(attributesOf(passing, 'LoadBalancer').get(attribute), 'false');
});

test('row 21: tasks are told the limits, and of all requests together that of API Gateway', () => {
  const usual = toldTo(gateway);
  assert.equal(usual.get(GATEWAY_VARIABLES.requests), '2000/1000');
  assert.equal(usual.get(GATEWAY_VARIABLES.openConnections), '2000');
  const limits = {
    newConnectionsPerAddress: { rate: 5 },
    requestsPerAddress: { rate: 6, burst: 7 },
    operationsPerRule: { burst: 8 },
  };
  const amqp = { ...AMQP, connectionsPerTask: 5000, limits };
  const set = toldTo(synthesize({ amqp, throttle: { rate: 300, burst: 100 } }));
  assert.equal(set.get(GATEWAY_VARIABLES.requests), '300/100');
  assert.equal(set.get(GATEWAY_VARIABLES.newConnections), '5/2000');
  assert.equal(set.get(GATEWAY_VARIABLES.requestsOfAddress), '6/7');
  assert.equal(set.get(GATEWAY_VARIABLES.operationsOfRule), '1000/8');
  assert.equal(set.get(GATEWAY_VARIABLES.openConnections), '10000');
  const open = toldTo(synthesize({ amqp: { ...AMQP, limits: { openConnectionsPerAddress: 9 } } }));
  assert.equal(open.get(GATEWAY_VARIABLES.openConnections), '9');
});

test('row 21: access logs are off, and by one setting on, for as long as other logs and without a token', () => {
  const stage = {
    type: 'AWS::ApiGatewayV2::Stage',
    properties: { AccessLogSettings: Match.absent() },
  };
  gateway.hasResourceProperties(stage.type, stage.properties);
  assert.equal(toldTo(gateway).get(GATEWAY_VARIABLES.accessLog), 'false');

  const logged = synthesize({ amqp: AMQP, accessLogs: true, logRetentionDays: 14 });
  assert.equal(toldTo(logged).get(GATEWAY_VARIABLES.accessLog), 'true');
  logged.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 14 });
  const [settings] = propertiesById<{
    readonly AccessLogSettings: { readonly DestinationArn: unknown; readonly Format: string };
  }>(logged, stage.type).values();
  assert.match(JSON.stringify(settings?.AccessLogSettings.DestinationArn), /HttpAccessLog/);
  const format = settings?.AccessLogSettings.Format ?? '';
  assert.deepEqual(Object.keys(JSON.parse(format)), [
    'requestId',
    'requestTime',
    'level',
    'client',
    'principal',
    'route',
    'status',
    'bytesOut',
    'ms',
    'error',
    'integrationError',
  ]);
  // Tokens come in header fields, those of locks in paths, and what clients put there in queries.
  assert.doesNotMatch(format, /header|authorization|context\.path|[qQ]uery/);
});
