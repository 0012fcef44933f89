import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  type Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { BrokerSettings } from '../broker-settings.ts';
import type { BrokerFunction } from './broker-function.ts';
import type { BrokerTables } from './broker-tables.ts';
import type { BrokerEndpoint } from './endpoint.ts';
import { countedLines, FAULTS, FAULTS_OF_API_GATEWAY, THROTTLED } from './log-counts.ts';
import type { Push } from './push.ts';

/** The resources that the alarms watch. */
export interface AlarmsProps {
  readonly endpoint: BrokerEndpoint;
  /** The functions that the endpoint calls, by name. */
  readonly functions: Readonly<Record<string, BrokerFunction>>;
  readonly sweep: BrokerFunction;
  readonly tables: BrokerTables;
  readonly settings: BrokerSettings;
  /** What pushes messages; undefined = nothing does. */
  readonly push: Push | undefined;
}

const MINUTES = 5;
const PERIOD = { period: Duration.minutes(MINUTES), statistic: Stats.SUM } as const;
/** Alarms on the first occurrence; missing data means that nothing happened. */
export const ONCE = {
  threshold: 1,
  evaluationPeriods: 1,
  treatMissingData: TreatMissingData.NOT_BREACHING,
} as const;

const FAILED_PERCENT = 5;
/** Consecutive periods that an alarm needs, so that a short disturbance does not raise it. */
const PERIODS = 3;
/** How late consumers may hear of messages. An hour after they were stored, only the sweep looks for them. */
const LATE_WAKE = Duration.minutes(10);
/** Share of the stage's steady rate limit. */
const NEAR_THROTTLE = 0.9;

/**
 * Eight alarms over nine metrics, and one more of each with `push`. Each metric costs $0.10 a month, also inside an
 * expression. A single fault raises an alarm, counted in the logs. The endpoint's 5xx count includes the refusals of a
 * busy service, which clients retry, so that metric raises an alarm only by its share of all requests.
 */
export class Alarms extends Construct {
  readonly #props: AlarmsProps;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.#props = props;
    this.#watchFaults();
    this.#watchRequests();
    this.#watchThrottle();
    this.#watchSweeps();
    this.#watchTables();
    this.#watchStream();
  }

  #watchFaults(): void {
    const { functions, sweep, settings, endpoint, push } = this.#props;
    const { accessLog } = endpoint;
    const metricName = `Faults.${settings.namespace}`;
    const pushing = push === undefined ? {} : { wake: push.wake, push: push.push };
    const metrics = Object.entries({ ...functions, sweep, ...pushing }).map(
      ([name, { logGroup }]) =>
        countedLines(this, `Faults-${name}`, { logGroup, pattern: FAULTS, metricName }),
    );
    if (accessLog !== undefined) {
      const pattern = FAULTS_OF_API_GATEWAY;
      countedLines(this, 'Faults-api', { logGroup: accessLog, pattern, metricName });
    }
    const [metric] = metrics;
    if (metric === undefined) return;
    this.#alarm('Faults', metric, 'A function met a fault, failed or timed out: its log has it.');
  }

  #watchRequests(): void {
    const { endpoint } = this.#props;
    this.#alarm(
      'RequestFailures',
      new MathExpression({
        expression: '100 * failed / requests',
        usingMetrics: {
          failed: endpoint.metricServerErrors(PERIOD),
          requests: endpoint.metricRequests(PERIOD),
        },
        period: PERIOD.period,
        label: 'Requests answered 5xx, percent',
      }),
      `Of the requests, ${FAILED_PERCENT} % or more were answered 5xx for ${PERIODS * MINUTES} minutes.`,
      { threshold: FAILED_PERCENT, evaluationPeriods: PERIODS },
    );
  }

  /**
   * Lambda has a metric for the calls that it throttles. API Gateway counts 429 with all other 4xx: its access log
   * distinguishes them; without one, the alarm watches whether the number of requests reaches the rate limit.
   */
  #watchThrottle(): void {
    const { endpoint, settings } = this.#props;
    const { accessLog } = endpoint;
    const throttles = endpoint.metricThrottles?.(PERIOD);
    if (throttles !== undefined) {
      this.#alarm('RequestThrottles', throttles, 'Lambda answered requests with 429.');
      return;
    }
    if (accessLog !== undefined) {
      const metricName = `Throttled.${settings.namespace}`;
      const props = { logGroup: accessLog, pattern: THROTTLED, metricName };
      const metric = countedLines(this, 'Throttled', props);
      this.#alarm('RequestThrottles', metric, 'API Gateway answered requests with 429.');
      return;
    }
    const threshold = Math.ceil(NEAR_THROTTLE * 60 * settings.throttle.rate);
    this.#alarm(
      'RequestThrottles',
      endpoint.metricRequests({ period: Duration.minutes(1), statistic: Stats.SUM }),
      'Requests come about as fast as the throttle of the stage lets pass: some are answered 429.',
      { threshold },
    );
  }

  /** Watches the number of sweeps. A throttled run is not an invocation; a failed one is, and counts as a fault. */
  #watchSweeps(): void {
    const { sweep, settings } = this.#props;
    const minutes = Math.max(MINUTES, settings.sweepMinutes);
    this.#alarm(
      'MissingSweeps',
      sweep.metricInvocations({
        period: Duration.minutes(minutes),
        statistic: Stats.SUM,
      }),
      `The sweep has not run for ${PERIODS * minutes} minutes: due work stays undone.`,
      {
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        evaluationPeriods: PERIODS,
        treatMissingData: TreatMissingData.BREACHING,
      },
    );
  }

  /** One alarm for each table: an alarm over the sum would cost as much and not name the table. */
  #watchTables(): void {
    const { tables } = this.#props;
    for (const name of ['entities', 'messages'] as const) {
      for (const kind of ['Read', 'Write'] as const) {
        this.#alarm(
          `${kind}Throttles-${name}`,
          throttleEvents(tables[name], kind),
          `DynamoDB throttles ${kind === 'Read' ? 'reads from' : 'writes to'} the table of ${name}.`,
          { evaluationPeriods: PERIODS, datapointsToAlarm: PERIODS - 1 },
        );
      }
    }
  }

  /** Watches how old the items of the stream are that wake consumers. Without such items the metric has no values. */
  #watchStream(): void {
    const { push } = this.#props;
    if (push === undefined) return;
    this.#alarm(
      'LateWakes',
      push.wake.metric('IteratorAge', { period: PERIOD.period, statistic: Stats.MAXIMUM }),
      `Consumers hear of messages more than ${LATE_WAKE.toMinutes()} minutes after they were stored.`,
      { threshold: LATE_WAKE.toMilliseconds() },
    );
  }

  #alarm(
    id: string,
    metric: IMetric,
    alarmDescription: string,
    props: Partial<AlarmProps> = {},
  ): void {
    raiseAlarm(this, id, this.#props.settings, { ...ONCE, ...props, metric, alarmDescription });
  }
}

/** Creates an alarm that notifies the stage's topic, if there is one. */
export function raiseAlarm(
  scope: Construct,
  id: string,
  { alarmTopicArn }: Pick<BrokerSettings, 'alarmTopicArn'>,
  props: AlarmProps,
): void {
  const alarm = new Alarm(scope, id, props);
  if (alarmTopicArn === undefined) return;
  alarm.addAlarmAction(new SnsAction(Topic.fromTopicArn(scope, `${id}Topic`, alarmTopicArn)));
}

/**
 * Requests, and parts of batches, that a table throttled, whether they were retried or not. On-demand tables have this
 * metric too.
 */
function throttleEvents(table: Table, kind: 'Read' | 'Write'): Metric {
  return table.metric(`${kind}ThrottleEvents`, PERIOD);
}
