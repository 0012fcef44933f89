import { Fn } from 'aws-cdk-lib';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';
import type { BrokerSettings } from '../broker-settings.ts';
import type { BrokerFunction } from './broker-function.ts';
import type { BrokerEndpoint } from './endpoint.ts';

/**
 * A function URL of the one function that serves every route. Lambda asks IAM under `iam` access, for the function as a
 * whole; under `sas` access the URL is public, and the function checks the tokens.
 */
export class BrokerUrl implements BrokerEndpoint {
  readonly url: string;
  readonly invokeArn: string;
  /** Function URLs have none. */
  readonly accessLog = undefined;
  readonly #handler: BrokerFunction;

  constructor(handler: BrokerFunction, { access }: Pick<BrokerSettings, 'access'>) {
    const { url } = handler.addFunctionUrl({
      authType: access === 'iam' ? FunctionUrlAuthType.AWS_IAM : FunctionUrlAuthType.NONE,
    });
    // It ends with a slash, and is known at deployment only: https://HOST/
    this.url = `https://${Fn.select(2, Fn.split('/', url))}`;
    this.invokeArn = handler.functionArn;
    this.#handler = handler;
  }

  metricRequests(options: MetricOptions): Metric {
    return this.#handler.metric('UrlRequestCount', options);
  }

  metricServerErrors(options: MetricOptions): Metric {
    return this.#handler.metric('Url5xxCount', options);
  }

  /** Lambda answers 429 where it may run no more executions of the function. */
  metricThrottles(options: MetricOptions): Metric {
    return this.#handler.metricThrottles(options);
  }
}
