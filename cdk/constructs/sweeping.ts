import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { Construct } from 'constructs';
import type { StageSettings } from '../settings.ts';
import type { BrokerFunction } from './broker-function.ts';

/** How long a sweep may take: less than the shortest time between two, so that they do not overlap. */
export const SWEEP_TIMEOUT = Duration.seconds(55);

/** A run that could not begin for so long is left out: the next one does its work. Lambda's least. */
const EVENT_AGE_MAX = Duration.minutes(1);

/**
 * Runs the sweep again and again. A sweep that failed is not repeated, since the next one is near. The rule
 * only hands its event over; Lambda keeps it and would call the function twice more after a failure, so
 * that runs overlap. So both are told.
 */
export function scheduleSweep(
  scope: Construct,
  sweep: BrokerFunction,
  settings: StageSettings,
): void {
  sweep.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: EVENT_AGE_MAX });
  new Rule(scope, 'SweepSchedule', {
    schedule: Schedule.rate(Duration.minutes(settings.sweepMinutes)),
    targets: [new LambdaFunction(sweep, { retryAttempts: 0, maxEventAge: EVENT_AGE_MAX })],
  });
}
