import { BrokerError } from './broker-error.ts';
import { badValue } from './description-checks.ts';
import type { EntityDescription } from './descriptions.ts';
import { type EntityPath, requireEntityName } from './entity-path.ts';

/** The names of the entities that a description forwards to: at most two, none for a topic. */
export function forwardingDestinations(description: EntityDescription): readonly string[] {
  if (description.kind === 'topic') return [];
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  return [forwardTo, forwardDeadLetteredMessagesTo].filter((name) => name !== undefined);
}

/**
 * Refuses forwarding to the entity itself, and of a subscription to its own topic: the shortest
 * loops. Longer ones are left to the limit on hops (semantics §7). Throws ArgumentError.
 */
export function requireForwardingElsewhere(path: EntityPath, description: EntityDescription): void {
  for (const name of forwardingDestinations(description)) {
    requireEntityName(name);
    const key = name.toLowerCase();
    if (key === path.key || key === path.subscription?.topic.toLowerCase()) {
      throw badValue(
        `Entity cannot have auto-forwarding policy to itself. '${path.name}' names '${name}'.`,
      );
    }
  }
}

/** The refusal for a destination that is no queue or topic of this namespace. */
export function noForwardingDestination(name: string): BrokerError {
  return new BrokerError(
    'MessagingEntityNotFound',
    `The auto forwarding destination entity doesn't exist. Its name is '${name}'.`,
    { subCode: '40400' },
  );
}
