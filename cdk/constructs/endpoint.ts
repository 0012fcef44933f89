import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';

/** What receives the requests of clients over HTTP and calls the functions. */
export interface BrokerEndpoint {
  /** Its address, without a slash at the end. */
  readonly url: string;
  /** The ARN that policies of callers name under `iam` access. */
  readonly invokeArn: string;
  /** Its access log, if the stage has one. */
  readonly accessLog: LogGroup | undefined;
  /** The number of requests. */
  metricRequests(options: MetricOptions): Metric;
  /** The number of requests that were answered 5xx. */
  metricServerErrors(options: MetricOptions): Metric;
  /** The number of requests that were answered 429; absent where no metric tells them from other 4xx. */
  metricThrottles?(options: MetricOptions): Metric;
}
