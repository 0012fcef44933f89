import { CfnOutput, type Environment, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Broker } from '../constructs/broker.ts';
import { SettingsError } from '../setting-faults.ts';
import type { StageSettings } from '../settings.ts';

/** One broker, and the outputs that its users need. */
export class BrokerStack extends Stack {
  constructor(scope: Construct, id: string, { props, amqp }: StageSettings) {
    super(scope, id, {
      description: 'dynabus: a service bus without servers',
      ...(amqp?.vpcId !== undefined && { env: whereDeployed() }),
    });
    // CDK leaves the id Default out of logical ids, so tables and secret keep those of stacks without the construct.
    const broker = new Broker(this, 'Default', props);
    this.#output('Endpoint', broker.url);
    if (broker.rootKey === undefined) {
      this.#output('InvokeArn', broker.invokeArn);
    } else {
      this.#output('RootKeySecretName', broker.rootKey.secretName);
      // Under IAM a browser cannot open it.
      this.#output('Explorer', `${broker.url}/$explorer`);
    }
    this.#output('EntitiesTable', broker.entitiesTable.tableName);
    this.#output('MessagesTable', broker.messagesTable.tableName);
    // With the tables, what `dynabus proxy --stack` needs.
    this.#output('Namespace', broker.namespace);
    this.#output('Tier', broker.tier);
    if (amqp === undefined || broker.amqpLoadBalancer === undefined) return;
    this.#output('AmqpEndpoint', amqp.domainName);
    this.#output('AmqpLoadBalancer', broker.amqpLoadBalancer.loadBalancerDnsName);
  }

  #output(id: string, value: string): void {
    new CfnOutput(this, id, { value });
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
