import { CustomResource, Duration, Lazy, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import { ArnPrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { Faults } from '../../shared/config/faults.ts';
import { readLoneConsumer } from '../../shared/config/lone-consumer.ts';
import { CONSUMER_LIMITS } from '../../shared/domain/consumers/consumer.ts';
import {
  pathOf,
  requireChildName,
  type SubQueue,
} from '../../shared/domain/entities/entity-path.ts';
import { SettingsError, shownSetting } from '../setting-faults.ts';
import { outermostStack, pathInStack, requirePlaceOf } from '../stack-place.ts';
import { SERVICE_TIMEOUT } from './authorization-rule.ts';
import type { ConsumerProps, IConsumer, IEntity } from './entity-ref.ts';
import { writtenSettings } from './read-props.ts';
import { noteConsumer } from './registry.ts';

/** The messages that a consumer gets. */
interface Source {
  readonly entity: IEntity;
  readonly subQueue: SubQueue;
}

/** Stands for a target that is known at deployment only. */
const SOME_TARGET = 'arn:aws:lambda:eu-west-1:123456789012:function:name';

/**
 * Declares that a function gets the messages of a queue or subscription, or of one of their dead-letter queues, and
 * allows the broker to call it. The construct is one of the function, so that the stack of the entity does not depend
 * on that of the function. Throws SettingsError with a line for each fault.
 */
export function addConsumer(source: Source, fn: IFunction, props: ConsumerProps = {}): IConsumer {
  const { entity } = source;
  if (!isFunction(fn)) {
    throw new SettingsError([
      `${entity.node.path}: The target of a consumer must be a function of aws-cdk-lib/aws-lambda, not ${shownSetting(fn)}.`,
    ]);
  }
  const { consumerName = fn.node.id } = props;
  const id = idOf(source, consumerName);
  if (fn.node.tryFindChild(id) !== undefined) {
    throw new SettingsError([
      `${entity.node.path}: ${fn.node.path} is its consumer '${consumerName}' already: set another consumerName.`,
    ]);
  }
  return new Consumer(fn as unknown as Construct, id, { source, fn, props, consumerName });
}

class Consumer extends Construct implements IConsumer {
  readonly consumerName: string;

  constructor(
    scope: Construct,
    id: string,
    {
      source: { entity, subQueue },
      fn,
      props,
      consumerName,
    }: {
      readonly source: Source;
      readonly fn: IFunction;
      readonly props: ConsumerProps;
      readonly consumerName: string;
    },
  ) {
    super(scope, id);
    this.consumerName = consumerName;
    const { broker, entityPath } = entity;
    const at = `${entity.node.path}: The consumer '${consumerName}'`;
    const { pushRoleArn } = broker;
    if (pushRoleArn === undefined) {
      throw new SettingsError([
        `${at} would get nothing, since ${broker.node.path} does not push messages: set push: true in its properties, or pushRoleArn in the attributes of fromBrokerAttributes.`,
      ]);
    }
    requirePlaceOf(broker, this);
    const settings = readSettings(at, fn, { ...props, consumerName });
    noteConsumer(broker, { entity: entityPath, subQueue, consumerName, at });
    fn.addPermission('Invoke', {
      principal: new ArnPrincipal(pushRoleArn),
      action: 'lambda:InvokeFunction',
      scope: this,
    });
    const resource = new CustomResource(this, 'Resource', {
      serviceToken: broker.entityServiceToken,
      serviceTimeout: SERVICE_TIMEOUT,
      resourceType: 'Custom::DynabusConsumer',
      removalPolicy: RemovalPolicy.DESTROY,
      properties: {
        Entity: pathOf(entityPath, subQueue),
        ConsumerName: consumerName,
        Target: fn.functionArn,
        Settings: Lazy.string({ produce: () => Stack.of(this).toJsonString(settings) }),
        ...(props.adopt === true && { Adopt: 'true' }),
      },
    });
    resource.node.addDependency(entity);
    // Without it the first calls would be refused. An imported function may have none.
    const permission = this.node.tryFindChild('Invoke');
    if (permission !== undefined) resource.node.addDependency(permission);
  }
}

/** Checks a consumer by the rules of the service. Returns its settings as JSON has them, without the target. */
function readSettings(at: string, fn: IFunction, props: ConsumerProps): object {
  const { consumerName, adopt, ...given } = props;
  const faults = new Faults();
  if (Token.isUnresolved(consumerName)) {
    faults.add('consumerName', 'It is a token, which deployment replaces: write the name itself.');
  } else {
    faults.attempt('consumerName', () => requireChildName(consumerName ?? ''));
  }
  if (typeof (adopt ?? false) !== 'boolean') {
    faults.add('adopt', `It must be true or false, not ${shownSetting(adopt)}.`);
  }
  const timeout = given.timeout ?? timeoutOf(fn);
  const settings = writtenSettings({ ...given, ...(timeout && { timeout }) }, faults);
  const { functionArn } = fn;
  const target = Token.isUnresolved(functionArn) ? SOME_TARGET : functionArn;
  if (faults.count === 0) readLoneConsumer({ ...settings, target }, faults);
  if (faults.count > 0) throw new SettingsError(faults.lines.map((line) => `${at}: ${line}`));
  return settings;
}

/** How long the function may run, at most as long as a call may; undefined = not known. */
function timeoutOf(fn: IFunction & { readonly lambda?: IFunction }): Duration | undefined {
  // An alias or a version has a function.
  const { timeout } = (fn.lambda ?? fn) as { readonly timeout?: Duration };
  if (timeout === undefined || timeout.isUnresolved()) return undefined;
  return Duration.millis(Math.min(timeout.toMilliseconds(), CONSUMER_LIMITS.timeoutMsMax));
}

/** Names broker and entity as `idOfRule` does, so that a stack can move in its app without other logical ids. */
function idOf({ entity: { broker, entityPath }, subQueue }: Source, name: string): string {
  const { stackName } = outermostStack(broker);
  const path = pathOf(entityPath.toLowerCase(), subQueue);
  const words = ['Dynabus', stackName, pathInStack(broker), path, 'consumer', name.toLowerCase()];
  return words.join(' ').replaceAll('/', '!');
}

function isFunction(one: unknown): one is IFunction {
  return typeof one === 'object' && one !== null && 'functionArn' in one;
}
