import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
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
