import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { Construct } from 'constructs';
import type { StageSettings } from '../settings.ts';
import type { BrokerFunction } from './broker-function.ts';

/** How long a sweep may take: less than the shortest time between two, so that they do not overlap. */
export const SWEEP_TIMEOUT = Duration.seconds(55);

/** Runs the sweep again and again. A sweep that failed is not repeated: the next one is near. */
export function scheduleSweep(
  scope: Construct,
  sweep: BrokerFunction,
  settings: StageSettings,
): void {
  new Rule(scope, 'SweepSchedule', {
    schedule: Schedule.rate(Duration.minutes(settings.sweepMinutes)),
    targets: [new LambdaFunction(sweep, { retryAttempts: 0 })],
  });
}
