import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { Alarm, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { StageSettings } from '../settings.ts';
import type { BrokerFunction } from './broker-function.ts';

/** What is watched. */
export interface AlarmsProps {
  readonly api: HttpApi;
  readonly sweep: BrokerFunction;
  readonly settings: StageSettings;
}

const PERIOD = { period: Duration.minutes(5), statistic: Stats.SUM } as const;

/**
 * Few alarms, because each costs a tenth of the dollar that an idle broker may cost a month, yet no
 * failure goes unseen. What clients were answered is the measure: a 5xx covers the errors, time-outs
 * and throttles of every function behind the API, and those of the tables behind the functions.
 */
export class Alarms extends Construct {
  readonly #topicArn: string | undefined;

  constructor(scope: Construct, id: string, { api, sweep, settings }: AlarmsProps) {
    super(scope, id);
    this.#topicArn = settings.alarmTopicArn;
    this.#alarm('RequestFailures', api.metricServerError(PERIOD), 'Clients were answered 5xx.');
    this.#alarm(
      'SweepErrors',
      sweep.metricErrors(PERIOD),
      'The sweep failed: due work stays undone.',
    );
    this.#alarm('SweepThrottles', sweep.metricThrottles(PERIOD), 'The sweep was not let run.');
  }

  #alarm(id: string, metric: IMetric, alarmDescription: string): void {
    const alarm = new Alarm(this, id, {
      metric,
      alarmDescription,
      threshold: 1,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    if (this.#topicArn === undefined) return;
    alarm.addAlarmAction(new SnsAction(Topic.fromTopicArn(this, `${id}Topic`, this.#topicArn)));
  }
}
