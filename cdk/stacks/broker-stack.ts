import { CfnOutput, Duration, type Environment, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { VARIABLES } from '../../shared/app/variables.ts';
import { Alarms } from '../constructs/alarms.ts';
import { AmqpGateway } from '../constructs/amqp-gateway.ts';
import { BrokerFunction } from '../constructs/broker-function.ts';
import { BrokerTables } from '../constructs/broker-tables.ts';
import type { BrokerEndpoint } from '../constructs/endpoint.ts';
import { BrokerUrl } from '../constructs/function-url.ts';
import { BrokerApi } from '../constructs/http-api.ts';
import { SWEEP_TIMEOUT, scheduleSweep } from '../constructs/sweeping.ts';
import { SettingsError } from '../setting-faults.ts';
import type { StageSettings } from '../settings.ts';

/**
 * API Gateway times out after 30 s; a function that ran longer would cost money without an answer. Behind a function
 * URL it is the same, so that an operation may take as long with either.
 */
const HTTP_TIMEOUT = Duration.seconds(29);

/** A complete broker with one namespace. */
export class BrokerStack extends Stack {
  readonly #settings: StageSettings;
  readonly #tables: BrokerTables;
  /** Absent under `iam` access, which has no keys. */
  readonly #rootKey: Secret | undefined;

  constructor(scope: Construct, id: string, settings: StageSettings) {
    super(scope, id, {
      description: 'dynabus: a service bus without servers',
      ...(settings.amqp?.vpcId !== undefined && { env: whereDeployed() }),
    });
    this.#settings = settings;
    this.#tables = new BrokerTables(this, 'Tables', settings);
    this.#rootKey = settings.access === 'sas' ? rootKey(this, settings) : undefined;

    const { functions, endpoint } =
      settings.endpoint === 'functionUrl' ? this.#functionUrl() : this.#httpApi();
    const sweep = new BrokerFunction(this, 'Sweep', {
      name: 'sweep',
      description: 'The sweep: due messages, dead letters, forwards, idle entities, leftovers',
      timeout: SWEEP_TIMEOUT,
      tables: this.#tables,
      settings,
      environment: { [VARIABLES.namespace]: settings.namespace },
    });
    scheduleSweep(this, sweep, settings);
    new Alarms(this, 'Alarms', { endpoint, functions, sweep, tables: this.#tables, settings });
    this.#output(endpoint);
    this.#serveAmqp();
  }

  /** An HTTP API in front of four functions. */
  #httpApi() {
    const functions = {
      send: this.#httpFunction('send', 'Send', 'Sends messages to one-segment entities'),
      receive: this.#httpFunction('receive', 'Receive', 'Receives from one-segment entities'),
      settle: this.#httpFunction('settle', 'Settle', 'Settles messages of one-segment entities'),
      manage: this.#httpFunction('manage', 'Manage', 'Management, and all paths without a route'),
    };
    const endpoint = new BrokerApi(this, 'Http', { functions, settings: this.#settings });
    return { functions, endpoint };
  }

  /** A function URL of one function. */
  #functionUrl() {
    const manage = this.#httpFunction('manage', 'Manage', 'All requests of clients');
    const endpoint = new BrokerUrl(manage, this.#settings);
    return { functions: { manage }, endpoint };
  }

  /** Adds the AMQP gateway if the stage has its settings; it costs money while idle. */
  #serveAmqp(): void {
    const { amqp } = this.#settings;
    if (amqp === undefined || this.#rootKey === undefined) return;
    const { loadBalancer } = new AmqpGateway(this, 'Amqp', {
      tables: this.#tables,
      rootKey: this.#rootKey,
      settings: this.#settings,
      amqp,
    });
    new CfnOutput(this, 'AmqpEndpoint', { value: amqp.domainName });
    new CfnOutput(this, 'AmqpLoadBalancer', { value: loadBalancer.loadBalancerDnsName });
  }

  #httpFunction(
    name: 'send' | 'receive' | 'settle' | 'manage',
    id: string,
    description: string,
  ): BrokerFunction {
    const handler = new BrokerFunction(this, id, {
      name,
      description,
      timeout: HTTP_TIMEOUT,
      tables: this.#tables,
      settings: this.#settings,
      environment: {
        [VARIABLES.namespace]: this.#settings.namespace,
        [VARIABLES.tier]: this.#settings.tier,
        ...(this.#settings.endpoint === 'functionUrl' && { [VARIABLES.endpoint]: 'functionUrl' }),
        ...(this.#rootKey === undefined
          ? { [VARIABLES.access]: 'iam' }
          : { [VARIABLES.rootKeySecret]: this.#rootKey.secretArn }),
        [VARIABLES.receiveWaitMsMax]: String(this.#settings.receiveWaitMsMax),
      },
    });
    if (this.#rootKey !== undefined) {
      handler.allow(['secretsmanager:GetSecretValue'], this.#rootKey.secretArn);
    }
    return handler;
  }

  #output({ url, invokeArn }: BrokerEndpoint): void {
    new CfnOutput(this, 'Endpoint', { value: url });
    if (this.#rootKey === undefined) {
      new CfnOutput(this, 'InvokeArn', { value: invokeArn });
    } else {
      new CfnOutput(this, 'RootKeySecretName', { value: this.#rootKey.secretName });
    }
    new CfnOutput(this, 'EntitiesTable', { value: this.#tables.entities.tableName });
    new CfnOutput(this, 'MessagesTable', { value: this.#tables.messages.tableName });
  }
}

/** Looking up an existing network needs the account and region. */
function whereDeployed(): Environment {
  const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
  if (!account || !region) {
    throw new SettingsError([
      'amqp.vpcId is looked up in your AWS account, but there are no credentials or no region: set AWS_PROFILE or AWS_REGION, or leave amqp.vpcId out.',
    ]);
  }
  return { account, region };
}

/**
 * The key of RootManageSharedAccessKey, generated at deployment. As long as the service's own keys; letters and digits
 * only, so that it needs no quoting in connection strings and shells.
 */
function rootKey(scope: Construct, settings: StageSettings): Secret {
  return new Secret(scope, 'RootKey', {
    description: `Key of RootManageSharedAccessKey in ${settings.namespace}`,
    generateSecretString: { passwordLength: 44, excludePunctuation: true },
    removalPolicy: settings.keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  });
}
