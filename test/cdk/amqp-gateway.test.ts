import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Match } from 'aws-cdk-lib/assertions';
import {
  CONNECTIONS_METRIC,
  DRAIN_NOTICE_MS,
  GATEWAY_VARIABLES,
  STOP_MS_MAX,
} from '../../gateway/variables.ts';
import { VARIABLES } from '../../shared/app/variables.ts';
import { HEALTH_PATH } from '../../shared/domain/health-path.ts';
import { AMQP, propertiesById, synthesize } from './synthesize.ts';

const plain = synthesize();
const template = synthesize({ amqp: AMQP });

interface Container {
  readonly Environment: readonly { readonly Name: string }[];
}

test('without its settings nothing of the gateway is there, and with them nothing else changes', () => {
  const before: Record<string, unknown> = plain.toJSON()['Resources'];
  const after: Record<string, unknown> = template.toJSON()['Resources'];
  assert.deepEqual(
    Object.fromEntries(Object.entries(after).filter(([id]) => !id.startsWith('Amqp'))),
    before,
  );
  assert.doesNotMatch(JSON.stringify(plain.toJSON()), /AWS::(ECS|EC2|ElasticLoadBalancingV2)/);
  assert.deepEqual(Object.keys(plain.findOutputs('Amqp*')), []);
});

test('one small task, of which nothing is root and nothing can be written to', () => {
  template.hasResourceProperties('AWS::ECS::TaskDefinition', {
    Cpu: '256',
    Memory: '512',
    RuntimePlatform: { CpuArchitecture: 'ARM64', OperatingSystemFamily: 'LINUX' },
    ContainerDefinitions: [
      Match.objectLike({
        User: '1000',
        ReadonlyRootFilesystem: true,
        LinuxParameters: { InitProcessEnabled: true, Capabilities: { Drop: ['ALL'] } },
        PortMappings: [{ ContainerPort: 5672, Protocol: 'tcp' }],
        LogConfiguration: Match.objectLike({ Options: Match.objectLike({ mode: 'non-blocking' }) }),
      }),
    ],
  });
  template.hasResourceProperties('AWS::ECS::Service', {
    LaunchType: 'FARGATE',
    DesiredCount: Match.absent(),
    DeploymentConfiguration: Match.objectLike({
      DeploymentCircuitBreaker: { Enable: true, Rollback: true },
      MinimumHealthyPercent: 100,
    }),
  });
});

const TARGET = 'arn:aws:lambda:eu-central-1:111122223333:function:worker';

test('a task is told what a function behind HTTP is told, and where to listen', () => {
  const [definition] = propertiesById<{ ContainerDefinitions: readonly Container[] }>(
    synthesize({ amqp: AMQP, streamWakeUps: true, push: { targets: [TARGET] } }),
    'AWS::ECS::TaskDefinition',
  ).values();
  const told = definition?.ContainerDefinitions[0]?.Environment.map(({ Name }) => Name);
  const { access, endpoint, parameterPrefix, ...others } = VARIABLES;
  assert.deepEqual(
    told?.toSorted(),
    [
      ...Object.values(others),
      ...Object.values(GATEWAY_VARIABLES),
      'AWS_REGION',
      'NODE_OPTIONS',
    ].toSorted(),
  );
  for (const name of [access, endpoint, parameterPrefix]) assert.ok(!told?.includes(name), name);
});

test('clients come in by TLS on both ports, and are led to the tasks', () => {
  for (const Port of [5671, 443]) {
    template.hasResourceProperties('AWS::ElasticLoadBalancingV2::Listener', {
      Port,
      Protocol: 'TLS',
      Certificates: [{ CertificateArn: AMQP.certificateArn }],
      SslPolicy: 'ELBSecurityPolicy-TLS13-1-2-2021-06',
    });
  }
  template.resourceCountIs('AWS::ElasticLoadBalancingV2::Listener', 2);
  template.hasResourceProperties('AWS::ElasticLoadBalancingV2::TargetGroup', {
    Protocol: 'TLS',
    TargetType: 'ip',
    HealthCheckProtocol: 'HTTP',
    HealthCheckPath: HEALTH_PATH,
  });
  // ECS can only register tasks in a group that a listener leads to.
  template.hasResource('AWS::ECS::Service', {
    DependsOn: Match.arrayWith([Match.stringLikeRegexp('AmqpLoadBalancerAmqps')]),
  });
});

test('the tasks let in the load balancer only, and reach only what AWS serves by HTTPS', () => {
  const groups = propertiesById<Record<string, unknown>>(template, 'AWS::EC2::SecurityGroup');
  const [entry, inside] = ['AmqpEntry', 'AmqpInside'].map(
    (name) => [...groups].find(([id]) => id.startsWith(name))?.[1],
  );
  assert.match(JSON.stringify(entry), /"FromPort":5671.*"FromPort":443/);
  assert.equal(inside?.['SecurityGroupIngress'], undefined);
  assert.match(JSON.stringify(inside), /"FromPort":443,"IpProtocol":"tcp","ToPort":443/);
  template.resourceCountIs('AWS::EC2::SecurityGroupIngress', 1);
  template.hasResourceProperties('AWS::EC2::SecurityGroupIngress', {
    FromPort: 5672,
    ToPort: 5672,
    SourceSecurityGroupId: { 'Fn::GetAtt': [Match.stringLikeRegexp('AmqpEntry'), 'GroupId'] },
  });
});

test('the network costs nothing: no NAT gateway, and an endpoint that is free', () => {
  template.resourceCountIs('AWS::EC2::NatGateway', 0);
  template.resourceCountIs('AWS::EC2::Subnet', 2);
  template.resourceCountIs('AWS::EC2::VPCEndpoint', 1);
  template.hasResourceProperties('AWS::EC2::VPCEndpoint', { VpcEndpointType: 'Gateway' });
});

test('a task that leaves has more time than it takes, and the load balancer cuts off nobody', () => {
  const [definition] = propertiesById<{
    ContainerDefinitions: readonly { readonly StopTimeout: number }[];
  }>(template, 'AWS::ECS::TaskDefinition').values();
  const stopMs = (definition?.ContainerDefinitions[0]?.StopTimeout ?? 0) * 1000;
  assert.ok(stopMs > DRAIN_NOTICE_MS + STOP_MS_MAX);
  // The most that Fargate grants.
  assert.ok(stopMs <= 120_000);
  const [group] = propertiesById<{
    HealthCheckIntervalSeconds: number;
    UnhealthyThresholdCount: number;
    TargetGroupAttributes: readonly { readonly Key: string; readonly Value: string }[];
  }>(template, 'AWS::ElasticLoadBalancingV2::TargetGroup').values();
  assert.ok(group);
  const noticedMs = group.HealthCheckIntervalSeconds * group.UnhealthyThresholdCount * 1000;
  assert.ok(noticedMs < DRAIN_NOTICE_MS);
  const attributes = new Map(group.TargetGroupAttributes.map(({ Key, Value }) => [Key, Value]));
  const unhealthy = 'target_health_state.unhealthy';
  assert.equal(attributes.get(`${unhealthy}.connection_termination.enabled`), 'false');
  assert.ok(Number(attributes.get(`${unhealthy}.draining_interval_seconds`)) * 1000 > stopMs);
});

test('tasks are added by the connections that each has, and by the CPU', () => {
  const scaled = synthesize({
    namespace: 'orders',
    amqp: { ...AMQP, minTasks: 2, maxTasks: 8, connectionsPerTask: 500, cpu: 512, memoryMb: 1024 },
  });
  scaled.hasResourceProperties('AWS::ApplicationAutoScaling::ScalableTarget', {
    MinCapacity: 2,
    MaxCapacity: 8,
  });
  scaled.hasResourceProperties('AWS::ApplicationAutoScaling::ScalingPolicy', {
    PolicyType: 'TargetTrackingScaling',
    TargetTrackingScalingPolicyConfiguration: {
      TargetValue: 500,
      CustomizedMetricSpecification: {
        Namespace: CONNECTIONS_METRIC.namespace,
        MetricName: CONNECTIONS_METRIC.name,
        Dimensions: [{ Name: CONNECTIONS_METRIC.dimension, Value: 'orders' }],
        Statistic: 'Average',
      },
    },
  });
  scaled.hasResourceProperties('AWS::ApplicationAutoScaling::ScalingPolicy', {
    TargetTrackingScalingPolicyConfiguration: Match.objectLike({
      PredefinedMetricSpecification: { PredefinedMetricType: 'ECSServiceAverageCPUUtilization' },
    }),
  });
  scaled.hasResourceProperties('AWS::ECS::TaskDefinition', { Cpu: '512', Memory: '1024' });
});

test('the log is kept as long as the others, and its faults raise an alarm', () => {
  const alarmTopicArn = 'arn:aws:sns:eu-central-1:111122223333:broker';
  const watched = synthesize({ amqp: AMQP, alarmTopicArn, logRetentionDays: 14 });
  watched.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 14 });
  watched.resourceCountIs('AWS::CloudWatch::Alarm', 11);
  watched.allResourcesProperties('AWS::CloudWatch::Alarm', { AlarmActions: [alarmTopicArn] });
  watched.hasResourceProperties('AWS::Logs::MetricFilter', {
    FilterPattern: '{ $.level = "error" }',
  });
  watched.hasResourceProperties('AWS::CloudWatch::Alarm', {
    MetricName: 'HealthyHostCount',
    Threshold: 1,
    ComparisonOperator: 'LessThanThreshold',
    TreatMissingData: 'breaching',
  });
  watched.hasResourceProperties('AWS::CloudWatch::Alarm', { MetricName: 'MemoryUtilization' });
});

test('the outputs tell the name for the connection string, and what it must lead to', () => {
  template.hasOutput('AmqpEndpoint', { Value: AMQP.domainName });
  assert.match(JSON.stringify(template.findOutputs('AmqpLoadBalancer')), /"DNSName"/);
  template.resourceCountIs('AWS::Route53::RecordSet', 0);
  const named = synthesize({ amqp: { ...AMQP, hostedZoneId: 'Z0123456789ABC' } });
  named.hasResourceProperties('AWS::Route53::RecordSet', {
    Name: `${AMQP.domainName}.`,
    Type: 'A',
    HostedZoneId: 'Z0123456789ABC',
  });
});

test('a network that is there is used as it is', (t) => {
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  delete process.env['CDK_DEFAULT_ACCOUNT'];
  const amqp = { ...AMQP, vpcId: 'vpc-0123abcd' };
  assert.throws(() => synthesize({ amqp }), /amqp\.vpcId is looked up .+no credentials/);
  Object.assign(process.env, {
    CDK_DEFAULT_ACCOUNT: '111122223333',
    CDK_DEFAULT_REGION: 'eu-central-1',
  });
  const inside = synthesize({ amqp });
  inside.resourceCountIs('AWS::EC2::VPC', 0);
  // What the toolkit puts in the place of a network that it has not looked up yet has private subnets.
  inside.hasResourceProperties('AWS::ECS::Service', {
    NetworkConfiguration: { AwsvpcConfiguration: Match.objectLike({ AssignPublicIp: 'DISABLED' }) },
  });
});
