import { Duration } from 'aws-cdk-lib';
import { type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import {
  FilterPattern,
  type ILogGroup,
  type JsonPattern,
  MetricFilter,
} from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { CONNECTIONS_METRIC } from '../../gateway/variables.ts';

const { all, any, stringValue } = FilterPattern;

/** A fault of ours, as `reportFault` writes it. */
export const OWN_FAULTS = stringValue('$.level', '=', 'error');

/**
 * A fault of ours, or a failed call of a function. Lambda reports a call that timed out, ran out of memory or crashed,
 * also while it started, although the function itself could not log anything. Lambda writes such a report at WARN and
 * that of a good call at INFO, so this counts the same at each level of `platformLogs`.
 */
export const FAULTS = any(
  OWN_FAULTS,
  all(
    stringValue('$.type', '=', 'platform.report'),
    any(
      ...['error', 'failure', 'timeout'].map((status) =>
        stringValue('$.record.status', '=', status),
      ),
    ),
  ),
);

/** A 5xx of API Gateway itself in its access log: no function answered. Empty fields are hyphens there. */
export const FAULTS_OF_API_GATEWAY = all(
  stringValue('$.status', '=', '5*'),
  stringValue('$.integrationError', '!=', '-'),
);

/** A request beyond the throttle, in the access log of API Gateway. */
export const THROTTLED = stringValue('$.status', '=', '429');

/** The lines of a log to count, and the metric's name. */
export interface CountedLines {
  readonly logGroup: ILogGroup;
  readonly pattern: JsonPattern;
  readonly metricName: string;
}

/**
 * The number of matching lines of a log in five minutes. Several logs may share a metric. The metric costs nothing
 * while no line matches, so it has no value then.
 */
export function countedLines(
  scope: Construct,
  id: string,
  { logGroup, pattern, metricName }: CountedLines,
): Metric {
  const filter = new MetricFilter(scope, id, {
    logGroup,
    filterPattern: pattern,
    metricNamespace: CONNECTIONS_METRIC.namespace,
    metricName,
  });
  return filter.metric({ period: Duration.minutes(5), statistic: Stats.SUM });
}
