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
 * A fault of ours, or a call of a function that did not end as it should: Lambda reports each call, so that a
 * function that timed out or crashed, and could write nothing itself, is counted too.
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

/** A 5xx of API Gateway's own in its access log: no function answered. What is empty there is a hyphen. */
export const FAULTS_OF_API_GATEWAY = all(
  stringValue('$.status', '=', '5*'),
  stringValue('$.integrationError', '!=', '-'),
);

/** A request beyond the throttle, in the access log of API Gateway. */
export const THROTTLED = stringValue('$.status', '=', '429');

/** Which lines of which log are counted, and under which name. */
export interface CountedLines {
  readonly logGroup: ILogGroup;
  readonly pattern: JsonPattern;
  readonly metricName: string;
}

/**
 * How many lines of a log match, in five minutes. Several logs may be counted under one name. Such a metric
 * costs nothing as long as there is nothing to count, so it has no value for no line.
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
