import { Token } from 'aws-cdk-lib';
import { Construct, type IConstruct } from 'constructs';
import { shown } from '../../shared/domain/fault-words.ts';
import type { IBroker } from '../constructs/broker-ref.ts';
import { SettingsError } from '../setting-faults.ts';
import type { IEntity, IQueue, ISubscription, ITopic } from './entity-ref.ts';

/**
 * The broker of a new construct: the given one, or else the nearest one around it, which may be the scope, or that of
 * an entity around it. Throws SettingsError if there is none.
 */
export function brokerFor(scope: IConstruct, id: string, given: IBroker | undefined): IBroker {
  if (given !== undefined) return given;
  for (const one of [...scope.node.scopes].reverse()) {
    if (isBroker(one)) return one;
    if (isEntity(one)) return one.broker;
  }
  throw new SettingsError([
    `${scope.node.path}/${id}: It has no broker: create it in a Broker, or set broker in its properties.`,
  ]);
}

/** The nearest entity around a new construct, which may be the scope. */
export function entityAround(scope: IConstruct): IEntity | undefined {
  return [...scope.node.scopes].reverse().find(isEntity);
}

/**
 * Throws SettingsError if the scope has a construct of that id. `nameProperty` = the property that has the name where
 * the id has not.
 */
export function requireFreeId(scope: IConstruct, id: string, nameProperty: string): void {
  const isTaken = !Token.isUnresolved(id) && scope.node.tryFindChild(id) !== undefined;
  if (!isTaken) return;
  throw new SettingsError([
    `${scope.node.path}/${id}: The id '${id}' is taken in ${scope.node.path}: choose another id and set ${nameProperty}.`,
  ]);
}

/** Brokers and entities are told by what they have, since an app may have loaded the package in both its forms. */
function isBroker(one: IConstruct): one is IBroker {
  return 'entityServiceToken' in one;
}

/** Constructs of queues and topics in other packages have names, too, but no path. */
function isEntity(one: unknown): one is IEntity {
  return typeof one === 'object' && one !== null && 'entityPath' in one;
}

/** Whether a value is a topic. */
export function isTopic(one: unknown): one is ITopic {
  return isEntity(one) && 'topicName' in one;
}

/** Whether a value is a queue or a topic. */
export function isDestination(one: unknown): one is IQueue | ITopic {
  return isTopic(one) || (isEntity(one) && 'queueName' in one);
}

/** Whether a value is a subscription. */
export function isSubscription(one: unknown): one is ISubscription {
  return isEntity(one) && 'subscriptionName' in one;
}

/** What a value is that is no entity, or not the right one, in a sentence. */
export function whatIs(value: unknown): string {
  if (!Construct.isConstruct(value)) return shown(value);
  return `${value.node.path}, ${isSubscription(value) ? 'a subscription' : 'which is no entity of a broker'}`;
}
