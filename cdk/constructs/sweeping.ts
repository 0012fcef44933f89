import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { Construct } from 'constructs';
import type { BrokerSettings } from '../broker-settings.ts';
import type { BrokerFunction } from './broker-function.ts';

/** How long a sweep may take: less than the time between two, so that they do not overlap. */
export const SWEEP_TIMEOUT = Duration.seconds(55);

/** A run that could not start within this time is dropped, because the next one does its work. Lambda's minimum. */
const EVENT_AGE_MAX = Duration.minutes(1);

/**
 * Runs the sweep on a schedule. A failed sweep is not retried, since the next one comes soon. The rule passes its event
 * to Lambda's queue, which by default would call the function twice more after a failure and make runs overlap. So
 * retries are turned off at both.
 */
export function scheduleSweep(
  scope: Construct,
  sweep: BrokerFunction,
  settings: BrokerSettings,
): void {
  sweep.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: EVENT_AGE_MAX });
  new Rule(scope, 'SweepSchedule', {
    schedule: Schedule.rate(Duration.minutes(settings.sweepMinutes)),
    targets: [new LambdaFunction(sweep, { retryAttempts: 0, maxEventAge: EVENT_AGE_MAX })],
  });
}
