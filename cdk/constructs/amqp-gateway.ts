import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Peer, Port, SecurityGroup, SubnetType } from 'aws-cdk-lib/aws-ec2';
import { Cluster, FargateService, type ICluster } from 'aws-cdk-lib/aws-ecs';
import {
  ListenerCertificate,
  NetworkLoadBalancer,
  NetworkTargetGroup,
  Protocol,
  SslPolicy,
  TargetType,
} from 'aws-cdk-lib/aws-elasticloadbalancingv2';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { LoadBalancerTarget } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import { CONNECTIONS_METRIC, DRAIN_NOTICE_MS } from '../../gateway/variables.ts';
import { HEALTH_PATH } from '../../shared/domain/health-path.ts';
import { GatewayAlarms } from './gateway-alarms.ts';
import { type GatewayNetwork, gatewayNetwork } from './gateway-network.ts';
import { CONTAINER_PORT, GatewayTask, type GatewayTaskProps } from './gateway-task.ts';

/** The ports that clients of one connection string use: AMQP over TLS, and HTTPS with WebSockets. */
const PORTS = { Amqps: 5671, Https: 443 } as const;
/** How long a task keeps its clients after its deregistration, before it is stopped. */
const DEREGISTRATION_DELAY = Duration.seconds(30);
const CPU_PERCENT = 60;

/**
 * Serves the official clients: Fargate tasks behind a network load balancer, which terminates the clients' TLS and uses
 * TLS of its own to the tasks. Any task can serve any client.
 */
export class AmqpGateway extends Construct {
  readonly loadBalancer: NetworkLoadBalancer;
  readonly #props: GatewayTaskProps;

  constructor(scope: Construct, id: string, props: GatewayTaskProps) {
    super(scope, id);
    this.#props = props;
    const network = gatewayNetwork(this, props.amqp.vpcId);
    const task = new GatewayTask(this, 'Task', props);
    this.loadBalancer = this.#createLoadBalancer(network);
    const service = this.#createService(network, task);
    const targets = this.#addListeners(network, service);
    this.#scale(service);
    this.#addDnsRecord();
    new GatewayAlarms(this, 'Alarms', { ...props, service, targets, logGroup: task.logGroup });
  }

  #createLoadBalancer({ vpc }: GatewayNetwork): NetworkLoadBalancer {
    const securityGroup = new SecurityGroup(this, 'Entry', {
      vpc,
      description: 'Clients of the gateway',
      allowAllOutbound: false,
    });
    for (const port of Object.values(PORTS)) {
      securityGroup.addIngressRule(Peer.anyIpv4(), Port.tcp(port));
    }
    return new NetworkLoadBalancer(this, 'LoadBalancer', {
      vpc,
      vpcSubnets: { subnetType: SubnetType.PUBLIC },
      internetFacing: true,
      // A zone may have no task.
      crossZoneEnabled: true,
      deletionProtection: this.#props.settings.keepData,
      securityGroups: [securityGroup],
    });
  }

  #createService(
    { vpc, assignPublicIp }: GatewayNetwork,
    taskDefinition: GatewayTask,
  ): FargateService {
    const securityGroup = new SecurityGroup(this, 'Inside', {
      vpc,
      description: 'Tasks of the gateway, which nobody reaches but the load balancer',
      allowAllOutbound: false,
    });
    securityGroup.addEgressRule(Peer.anyIpv4(), Port.HTTPS, 'AWS');
    this.loadBalancer.connections.allowTo(securityGroup, Port.tcp(CONTAINER_PORT));
    // Scaling sets the number of tasks; a number here would reset it at each deployment.
    return new FargateService(this, 'Service', {
      cluster: new Cluster(this, 'Cluster', { vpc }) as ICluster,
      taskDefinition,
      assignPublicIp,
      vpcSubnets: {
        subnetType: assignPublicIp ? SubnetType.PUBLIC : SubnetType.PRIVATE_WITH_EGRESS,
      },
      securityGroups: [securityGroup],
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      circuitBreaker: { rollback: true },
      healthCheckGracePeriod: Duration.minutes(1),
    });
  }

  #addListeners({ vpc }: GatewayNetwork, service: FargateService): NetworkTargetGroup {
    const targets = new NetworkTargetGroup(this, 'Tasks', {
      vpc,
      targetType: TargetType.IP,
      // Each task makes its own certificate: the load balancer accepts any, and the traffic is encrypted.
      protocol: Protocol.TLS,
      port: CONTAINER_PORT,
      preserveClientIp: false,
      // Tasks refuse connections of clients without a PROXY header.
      proxyProtocolV2: true,
      deregistrationDelay: DEREGISTRATION_DELAY,
      healthCheck: {
        protocol: Protocol.HTTP,
        path: HEALTH_PATH,
        interval: Duration.seconds(10),
        timeout: Duration.seconds(5),
        healthyThresholdCount: 2,
        unhealthyThresholdCount: 2,
      },
      targets: [service],
    });
    // A draining task reports itself unhealthy, and then disconnects its clients itself.
    targets.setAttribute('target_health_state.unhealthy.connection_termination.enabled', 'false');
    const drainSeconds = (4 * DRAIN_NOTICE_MS) / 1000;
    targets.setAttribute(
      'target_health_state.unhealthy.draining_interval_seconds',
      String(drainSeconds),
    );
    for (const [id, port] of Object.entries(PORTS)) {
      this.loadBalancer.addListener(id, {
        port,
        protocol: Protocol.TLS,
        certificates: [ListenerCertificate.fromArn(this.#props.amqp.certificateArn)],
        sslPolicy: SslPolicy.RECOMMENDED_TLS,
        defaultTargetGroups: [targets],
      });
    }
    return targets;
  }

  /** Scales by connections, which are long-lived, and by CPU. */
  #scale(service: FargateService): void {
    const { amqp, settings } = this.#props;
    const scaling = service.autoScaleTaskCount({
      minCapacity: amqp.minTasks,
      maxCapacity: amqp.maxTasks,
    });
    scaling.scaleToTrackCustomMetric('Connections', {
      metric: new Metric({
        namespace: CONNECTIONS_METRIC.namespace,
        metricName: CONNECTIONS_METRIC.name,
        dimensionsMap: { [CONNECTIONS_METRIC.dimension]: settings.namespace },
        // Each task reports its own number, so the average is per task.
        statistic: Stats.AVERAGE,
        period: Duration.millis(CONNECTIONS_METRIC.periodMs),
      }),
      targetValue: amqp.connectionsPerTask,
    });
    scaling.scaleOnCpuUtilization('Cpu', { targetUtilizationPercent: CPU_PERCENT });
  }

  #addDnsRecord(): void {
    const { domainName, hostedZoneId } = this.#props.amqp;
    if (hostedZoneId === undefined) return;
    new ARecord(this, 'Name', {
      // The full name; its relation to the zone's name does not matter for the record.
      zone: HostedZone.fromHostedZoneAttributes(this, 'Zone', {
        hostedZoneId,
        zoneName: domainName,
      }),
      target: RecordTarget.fromAlias(new LoadBalancerTarget(this.loadBalancer)),
    });
  }
}
