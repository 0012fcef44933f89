import { argumentError, BrokerError } from '../broker-error.ts';
import type { EntityDescription } from './descriptions.ts';
import { type EntityPath, requireEntityName } from './entity-path.ts';

/** The names of the entities that a description forwards to: at most two; none for a topic. */
export function forwardingDestinations(description: EntityDescription): readonly string[] {
  if (description.kind === 'topic') return [];
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  return [forwardTo, forwardDeadLetteredMessagesTo].filter((name) => name !== undefined);
}

/**
 * Throws ArgumentError if a subscription forwards to its own topic, the shortest loop. The limit of hops ends
 * other loops (semantics #126): a queue may forward to itself, as recordings of the vendor's client for
 * Python show (2020).
 */
export function requireForwardingElsewhere(path: EntityPath, description: EntityDescription): void {
  for (const name of forwardingDestinations(description)) {
    requireEntityName(name);
    if (name.toLowerCase() === path.subscription?.topic.toLowerCase())
      throw forwardingToItself(path, name);
  }
}

/** ArgumentError: an entity forwards to itself. */
export function forwardingToItself(
  { name }: Pick<EntityPath, 'name'>,
  destination: string,
): BrokerError {
  return argumentError(
    `Entity cannot have auto-forwarding policy to itself. '${name}' names '${destination}'.`,
  );
}

/**
 * Throws ArgumentError if an entity that requires sessions forwards (semantics #127), except for a queue that
 * forwards to a topic from its creation on, as recordings of the vendor's client for Python show (2024). That the
 * service refuses the other cases is known from reports. `to` = the kind of the destination; `current` = the
 * description before an update.
 */
export function requireSessionsMayForward(
  description: EntityDescription,
  to: EntityDescription['kind'],
  current?: EntityDescription,
): void {
  if (description.kind === 'topic' || !description.requiresSession) return;
  const { kind, forwardTo } = description;
  if (forwardTo === undefined) return;
  const before = current === undefined || current.kind === 'topic' ? undefined : current.forwardTo;
  if (before?.toLowerCase() === forwardTo.toLowerCase()) return;
  if (kind === 'queue' && to === 'topic' && current === undefined) return;
  const word = kind === 'queue' ? 'Queue' : 'Subscription';
  throw argumentError(
    `The 'forwardTo' property can't be set to '${forwardTo}' because the ${word} requires sessions. Only a Queue forwards out of its sessions, to a Topic that is named when it is created.`,
  );
}

/** MessagingEntityNotFound: the destination is no queue or topic of this namespace (semantics #125). */
export function forwardingDestinationNotFound(name: string): BrokerError {
  return new BrokerError(
    'MessagingEntityNotFound',
    `The auto forwarding destination entity doesn't exist. Its name is '${name}'.`,
    { subCode: '40400' },
  );
}
