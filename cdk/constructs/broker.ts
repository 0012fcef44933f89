import { Duration, Names, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { INetworkLoadBalancer } from 'aws-cdk-lib/aws-elasticloadbalancingv2';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { VARIABLES } from '../../shared/app/variables.ts';
import type { BrokerProps } from '../broker-props.ts';
import { type BrokerSettings, readBrokerSettings } from '../broker-settings.ts';
import { pushSettingsOf } from '../push-settings.ts';
import { SettingsError } from '../setting-faults.ts';
import { differ, outermostStack } from '../stack-place.ts';
import { Alarms } from './alarms.ts';
import { AmqpGateway } from './amqp-gateway.ts';
import { BrokerFunction } from './broker-function.ts';
import { type BrokerAttributes, grantManage, type IBroker, ImportedBroker } from './broker-ref.ts';
import { BrokerTables, grantDirect } from './broker-tables.ts';
import { BrokerUrl } from './function-url.ts';
import { BrokerApi } from './http-api.ts';
import { Push, pushVariables } from './push.ts';
import { SWEEP_TIMEOUT, scheduleSweep } from './sweeping.ts';

/**
 * API Gateway times out after 30 s; a function that ran longer would cost money without an answer. Behind a function
 * URL it is the same, so that an operation may take as long with either.
 */
const HTTP_TIMEOUT = Duration.seconds(29);

/** Far longer than an event takes. Lambda tries an event that did not end twice more, CloudFormation waits for it. */
const DECLARE_TIMEOUT = Duration.minutes(5);
/** An event that Lambda could not start earlier is too late: CloudFormation may have gone on. */
const DECLARE_EVENT_AGE_MAX = Duration.minutes(15);

const NAMESPACE_LENGTH_MAX = 50;

/** An id that stands in the name of a parameter as it is. */
const PLAIN_ID = /^[\w.-]+$/;

/**
 * A complete broker with one namespace: tables, functions, endpoint, sweep, alarms, with `push` what pushes messages to
 * targets, and with `amqp` the AMQP gateway.
 * Throws an Error with a sentence for each wrong setting.
 */
export class Broker extends Construct implements IBroker {
  readonly namespace: string;
  readonly tier: BrokerAttributes['tier'];
  readonly access: BrokerAttributes['access'];
  readonly endpointType: BrokerAttributes['endpointType'];
  readonly url: string;
  readonly invokeArn: string;
  readonly keepData: boolean;
  readonly parameterPrefix: string;
  readonly entityServiceToken: string;
  readonly pushRoleArn?: string;
  readonly amqpDomainName?: string;
  /** The secret with the key of `RootManageSharedAccessKey`; absent under `iam` access, which has no keys. */
  readonly rootKey?: ISecret;
  /** The table of entities. */
  readonly entitiesTable: ITable;
  /** The table of messages. */
  readonly messagesTable: ITable;
  /** Both tables. */
  readonly tables: readonly ITable[];
  /** The load balancer of the AMQP gateway; absent without `amqp`. */
  readonly amqpLoadBalancer?: INetworkLoadBalancer;
  readonly #settings: BrokerSettings;
  readonly #tables: BrokerTables;
  readonly #push: Push | undefined;

  /** A broker that another app, or another stage of this one, deploys. */
  static fromBrokerAttributes(scope: Construct, id: string, attributes: BrokerAttributes): IBroker {
    return new ImportedBroker(scope, id, attributes);
  }

  constructor(scope: Construct, id: string, props: BrokerProps = {}) {
    super(scope, id);
    const settings = settingsOf(this, props);
    this.#settings = settings;
    this.namespace = settings.namespace;
    this.tier = settings.tier;
    this.access = settings.access;
    this.endpointType = settings.endpoint;
    this.keepData = settings.keepData;
    this.parameterPrefix = parameterPrefix(this);

    this.#tables = new BrokerTables(this, 'Tables', settings);
    this.entitiesTable = this.#tables.entities as ITable;
    this.messagesTable = this.#tables.messages as ITable;
    this.tables = [this.entitiesTable, this.messagesTable];
    const rootKey = settings.access === 'sas' ? createRootKey(this, settings) : undefined;
    if (rootKey !== undefined) this.rootKey = rootKey as ISecret;

    this.#push = this.#pushing();
    if (this.#push !== undefined) this.pushRoleArn = this.#push.roleArn;

    const { functions, endpoint } =
      settings.endpoint === 'functionUrl' ? this.#functionUrl() : this.#httpApi();
    this.url = endpoint.url;
    this.invokeArn = endpoint.invokeArn;
    this.entityServiceToken = this.#declare().functionArn;
    const sweep = this.#sweep();
    const tables = this.#tables;
    const push = this.#push;
    new Alarms(this, 'Alarms', { endpoint, functions, sweep, tables, settings, push });
    const { amqp } = settings;
    // It costs money while idle.
    if (amqp !== undefined && rootKey !== undefined) {
      const gateway = new AmqpGateway(this, 'Amqp', { tables, rootKey, settings, amqp, push });
      this.amqpLoadBalancer = gateway.loadBalancer as INetworkLoadBalancer;
      this.amqpDomainName = amqp.domainName;
    }
  }

  grantManage(grantee: IGrantable): Grant {
    return grantManage(this, grantee);
  }

  /**
   * Allows everything on messages, and the rules of subscriptions, by the tables themselves: for `dynabus proxy` and
   * `dynabus/connect` with the transport direct. It gives no right to the root key. Throws if the grant would give
   * nothing.
   */
  grantDirect(grantee: IGrantable): Grant {
    return grantDirect(this.node.path, grantee, this.#tables);
  }

  /**
   * What a process with these rights must know, as JSON, which may hold tokens: the value for its environment variable
   * `DYNABUS_DIRECT`.
   */
  get directSettings(): string {
    return Stack.of(this).toJsonString({
      entitiesTable: this.entitiesTable.tableName,
      messagesTable: this.messagesTable.tableName,
      namespace: this.namespace,
      tier: this.tier,
    });
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
        [VARIABLES.namespace]: this.namespace,
        [VARIABLES.tier]: this.tier,
        ...(this.endpointType === 'functionUrl' && { [VARIABLES.endpoint]: 'functionUrl' }),
        ...(this.rootKey === undefined
          ? { [VARIABLES.access]: 'iam' }
          : { [VARIABLES.rootKeySecret]: this.rootKey.secretArn }),
        [VARIABLES.receiveWaitMsMax]: String(this.#settings.receiveWaitMsMax),
        ...(name === 'manage' && pushVariables(this.#push)),
      },
    });
    if (this.rootKey !== undefined) {
      handler.allow(['secretsmanager:GetSecretValue'], this.rootKey.secretArn);
    }
    return handler;
  }

  /** The function behind the custom resources of entities and their authorization rules. */
  #declare(): BrokerFunction {
    const declare = new BrokerFunction(this, 'Declare', {
      name: 'declare',
      description: 'Entities and authorization rules that stacks declare',
      timeout: DECLARE_TIMEOUT,
      tables: this.#tables,
      settings: this.#settings,
      environment: {
        [VARIABLES.namespace]: this.namespace,
        [VARIABLES.tier]: this.tier,
        [VARIABLES.parameterPrefix]: this.parameterPrefix,
      },
    });
    declare.configureAsyncInvoke({ maxEventAge: DECLARE_EVENT_AGE_MAX });
    const parameters = Stack.of(this).formatArn({
      service: 'ssm',
      resource: 'parameter',
      resourceName: `${this.parameterPrefix.slice(1)}/*`,
    });
    declare.allow(['ssm:PutParameter', 'ssm:DeleteParameter'], parameters);
    return declare;
  }

  /** What pushes messages to the targets of consumers; undefined without `push`. */
  #pushing(): Push | undefined {
    const settings = this.#settings;
    const push = pushSettingsOf(settings);
    if (push === undefined) return undefined;
    return new Push(this, 'Push', { tables: this.#tables, settings, push });
  }

  #sweep(): BrokerFunction {
    const sweep = new BrokerFunction(this, 'Sweep', {
      name: 'sweep',
      description: 'The sweep: due messages, dead letters, forwards, idle entities, leftovers',
      timeout: SWEEP_TIMEOUT,
      tables: this.#tables,
      settings: this.#settings,
      environment: {
        [VARIABLES.namespace]: this.namespace,
        ...(this.#push !== undefined && { [VARIABLES.pushFunction]: this.#push.functionName }),
      },
    });
    if (this.#push !== undefined) {
      this.#push.allowStart(sweep);
    }
    scheduleSweep(this, sweep, this.#settings);
    return sweep;
  }
}

function settingsOf(broker: Broker, props: BrokerProps): BrokerSettings {
  const { path } = broker.node;
  const settings = readBrokerSettings(props, { path, namespace: defaultNamespace(broker) });
  const { account, region } = Stack.of(broker);
  const isAnywhere = Token.isUnresolved(account) || Token.isUnresolved(region);
  if (settings.amqp?.vpcId !== undefined && isAnywhere) {
    throw new SettingsError([
      `${path}: amqp.vpcId is looked up in your AWS account, but the stack has no account or no region: add env with both to the properties of the stack, or leave amqp.vpcId out.`,
    ]);
  }
  requireCertificateIn(region, path, settings);
  return settings;
}

/** Load balancers take certificates of their own region only. */
function requireCertificateIn(region: string, path: string, { amqp }: BrokerSettings): void {
  if (amqp === undefined || Token.isUnresolved(amqp.certificateArn)) return;
  const [, , , certificateRegion = ''] = amqp.certificateArn.split(':');
  if (!differ(certificateRegion, region)) return;
  throw new SettingsError([
    `${path}: amqp.certificateArn is a certificate in ${certificateRegion}, but the stack is in ${region}: take a certificate of that region.`,
  ]);
}

/** A namespace has at least two characters, where a stack and its only broker may have one. */
function defaultNamespace(broker: Broker): string {
  const name = nameInStack(broker, { allowed: '-', lengthMax: NAMESPACE_LENGTH_MAX });
  return name.length > 1 ? name : `${name}-${broker.node.id}`;
}

/** Made of the stack's name and the path in the stack, so that a stack may move in its app. */
function nameInStack(
  broker: Broker,
  { allowed, lengthMax }: { readonly allowed: string; readonly lengthMax?: number },
): string {
  return Names.uniqueResourceName(broker, {
    ...(lengthMax !== undefined && { maxLength: lengthMax }),
    separator: '-',
    allowedSpecialCharacters: allowed,
  });
}

/** Names of stacks are unique in an account and region. A nested stack has a name at deployment only. */
function parameterPrefix(broker: Broker): string {
  const { stackName } = outermostStack(broker);
  const { id, scope } = broker.node;
  const isOfStack = Stack.isStack(scope) && scope.stackName === stackName;
  const name = isOfStack && PLAIN_ID.test(id) ? id : nameInStack(broker, { allowed: '._-' });
  return `/dynabus/${stackName}/${name}`;
}

/**
 * The key of RootManageSharedAccessKey, generated at deployment. As long as the service's own keys; letters and digits
 * only, so that it needs no quoting in connection strings and shells.
 */
function createRootKey(scope: Construct, { namespace, keepData }: BrokerSettings): Secret {
  return new Secret(scope, 'RootKey', {
    description: `Key of RootManageSharedAccessKey in ${namespace}`,
    generateSecretString: { passwordLength: 44, excludePunctuation: true },
    removalPolicy: keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
  });
}
