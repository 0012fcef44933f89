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

/** AMQP over TLS, and what else the clients of one connection string call: HTTPS, and WebSockets. */
const PORTS = { Amqps: 5671, Https: 443 } as const;
/** How long a task that is leaving keeps its clients before it is told to stop. */
const DEREGISTRATION_DELAY = Duration.seconds(30);
const CPU_PERCENT = 60;

/**
 * Serves the official clients: tasks in Fargate behind a network load balancer, which ends the TLS of
 * clients and speaks TLS of its own with the tasks. Any task serves any client.
 */
export class AmqpGateway extends Construct {
  readonly loadBalancer: NetworkLoadBalancer;
  readonly #props: GatewayTaskProps;

  constructor(scope: Construct, id: string, props: GatewayTaskProps) {
    super(scope, id);
    this.#props = props;
    const network = gatewayNetwork(this, props.amqp.vpcId);
    const task = new GatewayTask(this, 'Task', props);
    this.loadBalancer = this.#balance(network);
    const service = this.#serve(network, task);
    const targets = this.#lead(network, service);
    this.#scale(service);
    this.#name();
    new GatewayAlarms(this, 'Alarms', { ...props, service, targets, logGroup: task.logGroup });
  }

  #balance({ vpc }: GatewayNetwork): NetworkLoadBalancer {
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
      // There may be fewer tasks than zones.
      crossZoneEnabled: true,
      deletionProtection: this.#props.settings.keepData,
      securityGroups: [securityGroup],
    });
  }

  #serve({ vpc, assignPublicIp }: GatewayNetwork, taskDefinition: GatewayTask): FargateService {
    const securityGroup = new SecurityGroup(this, 'Inside', {
      vpc,
      description: 'Tasks of the gateway, which nobody reaches but the load balancer',
      allowAllOutbound: false,
    });
    securityGroup.addEgressRule(Peer.anyIpv4(), Port.HTTPS, 'AWS');
    this.loadBalancer.connections.allowTo(securityGroup, Port.tcp(CONTAINER_PORT));
    // How many tasks there are is left to the scaling; a number here would undo it at each deployment.
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

  #lead({ vpc }: GatewayNetwork, service: FargateService): NetworkTargetGroup {
    const targets = new NetworkTargetGroup(this, 'Tasks', {
      vpc,
      targetType: TargetType.IP,
      // With a certificate that each task makes: the load balancer takes any, but nobody reads along.
      protocol: Protocol.TLS,
      port: CONTAINER_PORT,
      preserveClientIp: false,
      // Tasks take no connection of a client without its address.
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
    // A task that drains calls itself unhealthy, and then tells its clients by itself.
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

  /** By connections, since those stay, and by the CPU that busy ones take. */
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
        // Each task tells its own number, so that the average is that of a task.
        statistic: Stats.AVERAGE,
        period: Duration.millis(CONNECTIONS_METRIC.periodMs),
      }),
      targetValue: amqp.connectionsPerTask,
    });
    scaling.scaleOnCpuUtilization('Cpu', { targetUtilizationPercent: CPU_PERCENT });
  }

  #name(): void {
    const { domainName, hostedZoneId } = this.#props.amqp;
    if (hostedZoneId === undefined) return;
    new ARecord(this, 'Name', {
      // Called as the name itself, whatever the zone is called: a record needs no more of it.
      zone: HostedZone.fromHostedZoneAttributes(this, 'Zone', {
        hostedZoneId,
        zoneName: domainName,
      }),
      target: RecordTarget.fromAlias(new LoadBalancerTarget(this.loadBalancer)),
    });
  }
}
