import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
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
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { FunctionName } from '../functions.ts';
import type { StageSettings } from '../settings.ts';
import type { BrokerFunction } from './broker-function.ts';
import type { BrokerTables } from './broker-tables.ts';
import { countedLines, FAULTS, FAULTS_OF_API_GATEWAY, THROTTLED } from './log-counts.ts';

/** What is watched. */
export interface AlarmsProps {
  readonly api: HttpApi;
  /** The log of requests to the API, where the stage has one. */
  readonly accessLog: ILogGroup | undefined;
  readonly functions: Readonly<Record<FunctionName, BrokerFunction>>;
  readonly tables: BrokerTables;
  readonly settings: StageSettings;
}

const MINUTES = 5;
const PERIOD = { period: Duration.minutes(MINUTES), statistic: Stats.SUM } as const;
/** Goes off when something happened at all; where nothing is counted nothing has happened. */
export const ONCE = {
  threshold: 1,
  evaluationPeriods: 1,
  treatMissingData: TreatMissingData.NOT_BREACHING,
} as const;

const FAILED_PERCENT = 5;
/** Consecutive periods that an alarm looks at, so that a short disturbance does not ring. */
const PERIODS = 3;
/** Share of the rate that the stage lets pass in the long run. */
const NEAR_THROTTLE = 0.9;

/**
 * Eight alarms over nine metrics. Each metric costs $0.10 a month, also where one expression has several. A
 * fault rings at once, counted in the logs: API Gateway's 5xx includes the refusals by which a busy service
 * asks clients to try again, so that metric rings only by its share of all requests.
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
  }

  #watchFaults(): void {
    const { functions, accessLog, settings } = this.#props;
    const metricName = `Faults.${settings.namespace}`;
    const metrics = Object.entries(functions).map(([name, { logGroup }]) =>
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
    const { api } = this.#props;
    this.#alarm(
      'RequestFailures',
      new MathExpression({
        expression: '100 * failed / requests',
        usingMetrics: { failed: api.metricServerError(PERIOD), requests: api.metricCount(PERIOD) },
        period: PERIOD.period,
        label: 'Requests answered 5xx, percent',
      }),
      `Of the requests, ${FAILED_PERCENT} % or more were answered 5xx for ${PERIODS * MINUTES} minutes.`,
      { threshold: FAILED_PERCENT, evaluationPeriods: PERIODS },
    );
  }

  /**
   * API Gateway counts its 429 among all 4xx. The access log tells them apart; without one, the number of
   * requests tells that they come as fast as the stage lets pass.
   */
  #watchThrottle(): void {
    const { api, accessLog, settings } = this.#props;
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
      api.metricCount({ period: Duration.minutes(1), statistic: Stats.SUM }),
      'Requests come about as fast as the throttle of the stage lets pass: some are answered 429.',
      { threshold },
    );
  }

  /** A run that was throttled is no invocation; one that failed is, and stands among the faults. */
  #watchSweeps(): void {
    const { functions, settings } = this.#props;
    const minutes = Math.max(MINUTES, settings.sweepMinutes);
    this.#alarm(
      'MissingSweeps',
      functions.sweep.metricInvocations({
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

  /** Not one alarm over a sum: it would cost as much, and not say which table. */
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

  #alarm(
    id: string,
    metric: IMetric,
    alarmDescription: string,
    props: Partial<AlarmProps> = {},
  ): void {
    raiseAlarm(this, id, this.#props.settings, { ...ONCE, ...props, metric, alarmDescription });
  }
}

/** Makes an alarm, and has the stage's topic hear of it, if there is one. */
export function raiseAlarm(
  scope: Construct,
  id: string,
  { alarmTopicArn }: Pick<StageSettings, 'alarmTopicArn'>,
  props: AlarmProps,
): void {
  const alarm = new Alarm(scope, id, props);
  if (alarmTopicArn === undefined) return;
  alarm.addAlarmAction(new SnsAction(Topic.fromTopicArn(scope, `${id}Topic`, alarmTopicArn)));
}

/** Requests and parts of batches that a table refused, repeated or not. Tables on demand have this metric, too. */
function throttleEvents(table: Table, kind: 'Read' | 'Write'): Metric {
  return table.metric(`${kind}ThrottleEvents`, PERIOD);
}
