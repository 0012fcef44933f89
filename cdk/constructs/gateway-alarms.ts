import { Duration } from 'aws-cdk-lib';
import { ComparisonOperator, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { FargateService } from 'aws-cdk-lib/aws-ecs';
import type { NetworkTargetGroup } from 'aws-cdk-lib/aws-elasticloadbalancingv2';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { BrokerSettings } from '../broker-settings.ts';
import { ONCE, raiseAlarm } from './alarms.ts';
import { countedLines, OWN_FAULTS } from './log-counts.ts';

/** The resources that the alarms watch. */
export interface GatewayAlarmsProps {
  readonly service: FargateService;
  readonly targets: NetworkTargetGroup;
  readonly logGroup: LogGroup;
  readonly settings: BrokerSettings;
}

const MEMORY_PERCENT_MAX = 90;

/** Alarms for a gateway without healthy tasks, for faults, and for tasks that are nearly full. */
export class GatewayAlarms extends Construct {
  constructor(scope: Construct, id: string, props: GatewayAlarmsProps) {
    super(scope, id);
    const { service, targets, logGroup, settings } = props;
    raiseAlarm(this, 'GatewayUnserved', settings, {
      alarmDescription: 'No task of the AMQP gateway is healthy.',
      // Each node of the load balancer reports a count; a task is healthy if one node sees it.
      metric: targets.metrics.healthyHostCount({
        period: Duration.minutes(1),
        statistic: Stats.MAXIMUM,
      }),
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      threshold: 1,
      evaluationPeriods: 3,
      treatMissingData: TreatMissingData.BREACHING,
    });
    raiseAlarm(this, 'GatewayFaults', settings, {
      alarmDescription: 'The AMQP gateway met faults of its own: its log has them.',
      metric: countedLines(this, 'FaultsInLog', {
        logGroup,
        pattern: OWN_FAULTS,
        metricName: `AmqpFaults.${settings.namespace}`,
      }),
      ...ONCE,
    });
    raiseAlarm(this, 'GatewayMemory', settings, {
      alarmDescription: 'Tasks of the AMQP gateway are short of memory.',
      metric: service.metricMemoryUtilization({
        period: Duration.minutes(5),
        statistic: Stats.MAXIMUM,
      }),
      threshold: MEMORY_PERCENT_MAX,
      evaluationPeriods: 2,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
  }
}
