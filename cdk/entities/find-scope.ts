import type { IConstruct } from 'constructs';
import type { IBroker } from '../constructs/broker-ref.ts';
import { SettingsError } from '../setting-faults.ts';
import type { IQueue, ISubscription, ITopic } from './entity-ref.ts';

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

/** Brokers and entities are told by what they have, since an app may have loaded the package in both its forms. */
function isBroker(one: IConstruct): one is IBroker {
  return 'entityServiceToken' in one;
}

function isEntity(one: IConstruct): one is IConstruct & { readonly broker: IBroker } {
  return 'entityPath' in one;
}

/** Whether a value is a topic. */
export function isTopic(one: unknown): one is ITopic {
  return typeof one === 'object' && one !== null && 'topicName' in one && 'entityPath' in one;
}

/** Whether a value is a queue or a topic. */
export function isDestination(one: unknown): one is IQueue | ITopic {
  return isTopic(one) || (typeof one === 'object' && one !== null && 'queueName' in one);
}

/** Whether a value is a subscription. */
export function isSubscription(one: unknown): one is ISubscription {
  return typeof one === 'object' && one !== null && 'subscriptionName' in one;
}
