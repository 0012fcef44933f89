import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import {
  Alarm,
  type AlarmProps,
  type IMetric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
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
/** Goes off when something happened at all; where nothing is counted nothing has happened. */
export const ONCE = {
  threshold: 1,
  evaluationPeriods: 1,
  treatMissingData: TreatMissingData.NOT_BREACHING,
} as const;

/**
 * Few alarms, because each costs a tenth of the dollar that an idle broker may cost a month, yet no
 * failure goes unseen. What clients were answered is the measure: a 5xx covers the errors, time-outs
 * and throttles of every function behind the API, and those of the tables behind the functions.
 */
export class Alarms extends Construct {
  constructor(scope: Construct, id: string, { api, sweep, settings }: AlarmsProps) {
    super(scope, id);
    const alarm = (name: string, metric: IMetric, alarmDescription: string) =>
      raiseAlarm(this, name, settings, { metric, alarmDescription, ...ONCE });
    alarm('RequestFailures', api.metricServerError(PERIOD), 'Clients were answered 5xx.');
    alarm('SweepErrors', sweep.metricErrors(PERIOD), 'The sweep failed: due work stays undone.');
    alarm('SweepThrottles', sweep.metricThrottles(PERIOD), 'The sweep was not let run.');
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
