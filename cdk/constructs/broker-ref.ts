import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct, type IConstruct } from 'constructs';
import { requireAttributes } from '../broker-attributes.ts';
import { effectiveGrant } from '../effective-grant.ts';

/** What describes a broker to stacks that use it: values that may be tokens, which deployment replaces. */
export interface BrokerAttributes {
  /** The name of the namespace in management and metrics. */
  readonly namespace: string;
  readonly tier: 'Standard' | 'Basic' | 'Premium';
  /** `sas`: callers show tokens signed with keys; `iam`: AWS policies decide about callers. */
  readonly access: 'sas' | 'iam';
  /** What receives requests over HTTP. */
  readonly endpointType: 'apiGateway' | 'functionUrl';
  /** The address for HTTP, without a slash at its end. */
  readonly url: string;
  /**
   * What policies of callers name under `iam` access: the ARN of the API's stage, to which they add method and path, or
   * with a function URL the ARN of the function.
   */
  readonly invokeArn: string;
  /** Whether tables and root key outlive the stack. */
  readonly keepData: boolean;
  /**
   * The beginning of the names of parameters in Systems Manager that belong to the broker, without a slash at its end:
   * `/dynabus/<name of the stack>/<id of the broker in the stack>`.
   */
  readonly parameterPrefix: string;
  /**
   * What custom resources of entities name as their ServiceToken: the ARN of the function that makes them. Whoever may
   * invoke it manages the whole namespace.
   */
  readonly entityServiceToken: string;
  /**
   * The ARN of the role that calls the targets of consumers; absent without `push`. `addConsumer` allows it to invoke
   * the function.
   */
  readonly pushRoleArn?: string;
  /** The name of the AMQP gateway, which connection strings then name; absent without a gateway. */
  readonly amqpDomainName?: string;
  /** The ARN of the secret with the root key; absent under `iam` access, which has no keys. */
  readonly rootKeySecretArn?: string;
}

/** A broker, of this app or of another one. */
export interface IBroker extends IConstruct, Omit<BrokerAttributes, 'rootKeySecretArn'> {
  /** The secret with the key of `RootManageSharedAccessKey`; absent under `iam` access, which has no keys. */
  readonly rootKey?: ISecret;
  /**
   * Allows everything in the namespace: manage, send and receive. Under `iam` access the grantee may invoke the whole
   * endpoint, under `sas` access read the root key. A grantee of another account also needs a resource policy.
   * Throws if the broker was imported with `sas` access and without `rootKeySecretArn`, and under `iam` access if the
   * grant would give nothing.
   */
  grantManage(grantee: IGrantable): Grant;
}

/** A broker of another app, or of another stage of this one. */
export class ImportedBroker extends Construct implements IBroker {
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
  readonly rootKey?: ISecret;

  constructor(scope: Construct, id: string, attributes: BrokerAttributes) {
    super(scope, id);
    requireAttributes(attributes, this.node.path);
    this.namespace = attributes.namespace;
    this.tier = attributes.tier;
    this.access = attributes.access;
    this.endpointType = attributes.endpointType;
    this.url = attributes.url;
    this.invokeArn = attributes.invokeArn;
    this.keepData = attributes.keepData;
    this.parameterPrefix = attributes.parameterPrefix;
    this.entityServiceToken = attributes.entityServiceToken;
    if (attributes.pushRoleArn !== undefined) this.pushRoleArn = attributes.pushRoleArn;
    if (attributes.amqpDomainName !== undefined) this.amqpDomainName = attributes.amqpDomainName;
    const { rootKeySecretArn } = attributes;
    if (rootKeySecretArn !== undefined) {
      this.rootKey = Secret.fromSecretCompleteArn(this, 'RootKey', rootKeySecretArn);
    }
  }

  grantManage(grantee: IGrantable): Grant {
    return grantManage(this, grantee);
  }
}

/** Allows the grantee everything in the namespace of a broker: see `IBroker.grantManage`. */
export function grantManage(broker: IBroker, grantee: IGrantable): Grant {
  if (broker.access === 'iam') {
    return effectiveGrant(broker.node.path, grantee, grantInvoke(broker, grantee));
  }
  if (broker.rootKey === undefined) {
    throw new Error(
      `${broker.node.path}: grantManage needs the root key of the broker: add rootKeySecretArn to the attributes of fromBrokerAttributes.`,
    );
  }
  return broker.rootKey.grantRead(grantee);
}

function grantInvoke({ endpointType, invokeArn }: IBroker, grantee: IGrantable): Grant {
  if (endpointType === 'apiGateway') {
    return Grant.addToPrincipal({
      grantee,
      actions: ['execute-api:Invoke'],
      resourceArns: [`${invokeArn}/*`],
    });
  }
  const resourceArns = [invokeArn];
  return Grant.addToPrincipal({
    grantee,
    actions: ['lambda:InvokeFunctionUrl'],
    resourceArns,
    conditions: { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } },
  }).combine(
    Grant.addToPrincipal({
      grantee,
      actions: ['lambda:InvokeFunction'],
      resourceArns,
      // Without it, the grantee could also invoke the function directly, with a made-up event.
      conditions: { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
    }),
  );
}
