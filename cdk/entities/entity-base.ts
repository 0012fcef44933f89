import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct, Dependable, type IDependable } from 'constructs';
import type { IBroker } from '../constructs/broker-ref.ts';
import { addConsumer } from './consumer.ts';
import type {
  ConsumerProps,
  IConsumer,
  IEntity,
  IQueue,
  ISubscription,
  ITopic,
} from './entity-ref.ts';
import { addEnvironment, grantOn } from './grants.ts';
import { declaringConstruct } from './registry.ts';

/** What queues, topics and subscriptions have in common. */
export abstract class EntityBase extends Construct implements IEntity {
  readonly broker: IBroker;
  readonly entityPath: string;

  /** @internal */
  protected constructor(
    scope: Construct,
    id: string,
    { broker, entityPath }: { readonly broker: IBroker; readonly entityPath: string },
  ) {
    super(scope, id);
    this.broker = broker;
    this.entityPath = entityPath;
  }

  addEnvironment(fn: LambdaFunction, prefix?: string): void {
    addEnvironment(this, fn, prefix);
  }

  grantListen(grantee: IGrantable): Grant {
    return grantOn(this, grantee, 'Listen');
  }

  grantManage(grantee: IGrantable): Grant {
    return grantOn(this, grantee, 'Manage');
  }

  /** Whoever depends on the entity waits for its resource, not for what others add to it. @internal */
  protected dependOn(resource: IDependable): void {
    Dependable.implement(this, {
      get dependencyRoots() {
        return Dependable.of(resource).dependencyRoots;
      },
    });
  }
}

/**
 * Whoever depends on an entity that is only named waits for the construct that declares it, if this app has one at
 * synthesis.
 */
export function dependByName(entity: IEntity): void {
  const { broker, entityPath } = entity;
  Dependable.implement(entity, {
    get dependencyRoots() {
      const construct = declaringConstruct(broker, entityPath);
      return construct === undefined ? [] : Dependable.of(construct).dependencyRoots;
    },
  });
}

abstract class SendableBase extends EntityBase {
  grantSend(grantee: IGrantable): Grant {
    return grantOn(this, grantee, 'Send');
  }
}

/** A queue of the broker, whether this app declares it or not. */
export abstract class QueueBase extends SendableBase implements IQueue {
  abstract readonly queueName: string;

  addConsumer(fn: IFunction, props?: ConsumerProps): IConsumer {
    return addConsumer({ entity: this, subQueue: 'main' }, fn, props);
  }

  addDeadLetterConsumer(fn: IFunction, props?: ConsumerProps): IConsumer {
    return addConsumer({ entity: this, subQueue: 'deadLetter' }, fn, props);
  }
}

/** A topic of the broker, whether this app declares it or not. */
export abstract class TopicBase extends SendableBase implements ITopic {
  abstract readonly topicName: string;
}

/** A subscription of a topic, whether this app declares it or not. */
export abstract class SubscriptionBase extends EntityBase implements ISubscription {
  abstract readonly topic: ITopic;
  abstract readonly subscriptionName: string;

  addConsumer(fn: IFunction, props?: ConsumerProps): IConsumer {
    return addConsumer({ entity: this, subQueue: 'main' }, fn, props);
  }

  addDeadLetterConsumer(fn: IFunction, props?: ConsumerProps): IConsumer {
    return addConsumer({ entity: this, subQueue: 'deadLetter' }, fn, props);
  }
}
