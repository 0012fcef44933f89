import type { Duration } from 'aws-cdk-lib';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IConstruct } from 'constructs';
import type { IBroker } from '../constructs/broker-ref.ts';

/** A queue, topic or subscription of a broker. */
export interface IEntity extends IConstruct {
  readonly broker: IBroker;
  /** The path in the namespace: `orders`, or of a subscription `events/Subscriptions/audit`. */
  readonly entityPath: string;
  /**
   * Tells a function where the entity is, by environment variables. With the prefix `DYNABUS_ORDERS`:
   * `DYNABUS_ORDERS_ENDPOINT` = the address of the broker for HTTP, `DYNABUS_ORDERS_ENTITY` = the path of the entity,
   * under `iam` access in lower case, as grants name it; and under `sas` access `DYNABUS_ORDERS_CONNECTION_PARAMETER` =
   * the name of the parameter in Systems Manager whose value is a connection string. Under `sas` access the function
   * also needs a grant on the entity, which synthesis checks. `prefix` = the start of the names; default: `DYNABUS_`
   * and the name of the entity in capitals.
   */
  addEnvironment(fn: LambdaFunction, prefix?: string): void;
  /**
   * Allows everything on the entity and its messages: all that Send and Listen allow, and to read and delete it, to
   * purge and resubmit, and to change the rules of subscriptions. Under `iam` access without the right to change its
   * settings, since a policy cannot say where it may forward to: that takes `broker.grantManage`.
   */
  grantManage(grantee: IGrantable): Grant;
}

/** An entity to which messages are sent. */
export interface ISendable extends IEntity {
  /**
   * Allows to send and schedule messages, and to cancel scheduled ones. Under `iam` access the grantee gets Invoke
   * statements on the methods and paths; under `sas` access an authorization rule of its own, whose connection string
   * lies in a parameter that the grantee may read. Throws if the access cannot be limited to the entity.
   */
  grantSend(grantee: IGrantable): Grant;
}

/** An entity from which messages are received. */
export interface IReceivable extends IEntity {
  /**
   * Allows to receive, settle, peek, defer and delete messages, also those of the dead-letter queue. As `grantSend`,
   * but the authorization rule for a subscription is one of its topic, so under `sas` access it covers all
   * subscriptions of the topic.
   */
  grantListen(grantee: IGrantable): Grant;
  /**
   * Has the broker call a function with the messages: a consumer. The function, or its version or alias, needs no grant
   * on the entity: this allows the broker to invoke it. Throws if the broker does not `push`, and for settings that the
   * service refuses.
   */
  addConsumer(fn: IFunction, props?: ConsumerProps): IConsumer;
  /** As `addConsumer`, for the messages of the dead-letter queue. */
  addDeadLetterConsumer(fn: IFunction, props?: ConsumerProps): IConsumer;
}

/** How a function gets messages. */
export interface ConsumerProps {
  /**
   * The name: 1 to 50 letters, digits, `.`, `-` and `_`; unique among the consumers of the queue or dead-letter queue,
   * whatever the case. Another name replaces the consumer. Default: the id of the function's construct.
   */
  readonly consumerName?: string;
  /** Messages of one call at most, from 1 to 1,000. Default: 10. */
  readonly maxBatch?: number;
  /** How long a call waits for more messages once there is one; up to 5 minutes. Default: not at all. */
  readonly batchWindow?: Duration;
  /** Calls under way at the same time at most, from 1 to 1,000. Default: 10. */
  readonly maxConcurrency?: number;
  /** Messages a second at most, on average, from 1 to 100,000. Default: as many as the function takes. */
  readonly maxPerSecond?: number;
  /**
   * How long a call may take, from 1 second to 10 minutes. Default: the timeout of the function, at most 10 minutes; of
   * one that is only named, 1 minute.
   */
  readonly timeout?: Duration;
  /** Whether messages are pushed; those of a disabled consumer stay in the queue. Default: true. */
  readonly enabled?: boolean;
  /** Takes over a consumer that was made by hand. The stack does not delete it. Default: false, it is refused. */
  readonly adopt?: boolean;
}

/** A consumer that an app declares. */
export interface IConsumer extends IConstruct {
  readonly consumerName: string;
}

/** A queue, declared or only named. */
export interface IQueue extends ISendable, IReceivable {
  readonly queueName: string;
}

/** A topic, declared or only named. */
export interface ITopic extends ISendable {
  readonly topicName: string;
  /**
   * Allows to receive from all subscriptions of the topic: see `Subscription.grantListen` for one of them.
   */
  grantListen(grantee: IGrantable): Grant;
}

/** A subscription, declared or only named. */
export interface ISubscription extends IReceivable {
  readonly topic: ITopic;
  readonly subscriptionName: string;
}
