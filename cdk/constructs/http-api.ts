import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  HttpApi,
  HttpMethod,
  HttpStage,
  type IAccessLogSettings,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { ROUTES } from '../../lambdas/http/routing/route-table.ts';
import { apiGatewayRoutes } from '../api-gateway-routes.ts';
import type { BrokerSettings } from '../broker-settings.ts';
import type { BrokerFunction } from './broker-function.ts';
import type { BrokerEndpoint } from './endpoint.ts';

/** The properties of the API. */
export interface BrokerApiProps {
  readonly functions: Readonly<Record<'send' | 'receive' | 'settle' | 'manage', BrokerFunction>>;
  readonly settings: BrokerSettings;
}

/**
 * The HTTP API in front of the functions. It uses the `$default` stage, which has no path prefix, because the official
 * clients drop the path of an endpoint (semantics G24).
 */
export class BrokerApi extends Construct implements BrokerEndpoint {
  readonly url: string;
  readonly invokeArn: string;
  readonly accessLog: LogGroup | undefined;
  readonly #api: HttpApi;

  constructor(scope: Construct, id: string, { functions, settings }: BrokerApiProps) {
    super(scope, id);
    const integrations = {
      send: new HttpLambdaIntegration('Send', functions.send),
      receive: new HttpLambdaIntegration('Receive', functions.receive),
      settle: new HttpLambdaIntegration('Settle', functions.settle),
      manage: new HttpLambdaIntegration('Manage', functions.manage),
    };
    this.#api = new HttpApi(this, 'Api', {
      apiName: settings.namespace,
      createDefaultStage: false,
      defaultIntegration: integrations.manage,
      ...(settings.access === 'iam' && { defaultAuthorizer: new HttpIamAuthorizer() }),
    });
    this.accessLog = settings.accessLogs ? accessLog(this, settings) : undefined;
    new HttpStage(this, 'Stage', {
      httpApi: this.#api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: settings.throttle.rate, burstLimit: settings.throttle.burst },
      ...(this.accessLog !== undefined && { accessLogSettings: loggedTo(this.accessLog) }),
    });
    for (const { method, path, function: name } of apiGatewayRoutes(ROUTES)) {
      const methods = [HttpMethod[method]];
      this.#api.addRoutes({ path, methods, integration: integrations[name] });
    }
    this.url = this.#api.apiEndpoint;
    // The policies of callers name this ARN with method and path.
    this.invokeArn = Stack.of(this).formatArn({
      service: 'execute-api',
      resource: this.#api.apiId,
      resourceName: '$default',
    });
  }

  metricRequests(options: MetricOptions): Metric {
    return this.#api.metricCount(options);
  }

  metricServerErrors(options: MetricOptions): Metric {
    return this.#api.metricServerError(options);
  }
}

/**
 * The fields of the access log. Not the path, which holds lock tokens and is logged as the client sent it, with quotes;
 * and no header fields, one of which is the access token.
 */
const LOGGED = {
  requestId: '$context.requestId',
  /** Not named `time`, which is ISO 8601 in all other lines: API Gateway has no such format. */
  requestTime: '$context.requestTime',
  level: 'info',
  client: '$context.identity.sourceIp',
  /** The caller that IAM authorized, under `iam` access. */
  principal: '$context.identity.userArn',
  route: '$context.routeKey',
  status: '$context.status',
  bytesOut: '$context.responseLength',
  ms: '$context.responseLatency',
  error: '$context.error.message',
  /** Why no function answered, if none did. */
  integrationError: '$context.integrationErrorMessage',
} as const;

function accessLog(scope: Construct, { logRetentionDays }: BrokerSettings): LogGroup {
  return new LogGroup(scope, 'AccessLog', {
    retention: logRetentionDays,
    removalPolicy: RemovalPolicy.DESTROY,
  });
}

function loggedTo(logGroup: LogGroup): IAccessLogSettings {
  return {
    destination: new LogGroupLogDestination(logGroup),
    format: AccessLogFormat.custom(JSON.stringify(LOGGED)),
  };
}
