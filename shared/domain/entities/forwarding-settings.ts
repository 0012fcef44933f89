import { argumentError, BrokerError } from '../broker-error.ts';
import type { EntityDescription } from './descriptions.ts';
import { type EntityPath, requireEntityName, trimSlashes } from './entity-path.ts';

/** The settings that forward. */
export const FORWARDING = ['forwardTo', 'forwardDeadLetteredMessagesTo'] as const;

const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/[^/]*(\/[^?#]*)?/i;

/** Whether a destination is given by its absolute address, not by its name (semantics F1). */
export function isAddress(destination: string): boolean {
  return ADDRESS.test(destination.trim());
}

/**
 * The name of a destination that is given by its name or by its absolute address; undefined where it is empty. Only
 * the path of an address counts, because destinations are in this namespace, whatever host name the client uses.
 * `field` is what the error names. Throws ArgumentError.
 */
export function destinationName(destination: string, field: string): string | undefined {
  const text = destination.trim();
  if (text === '') return undefined;
  const address = ADDRESS.exec(text);
  const path = address === null ? text : (address[1] ?? '');
  const name = trimSlashes(decoded(path, field));
  if (name === '') throw argumentError(`The value '${text.slice(0, 64)}' of ${field} has no name.`);
  return name;
}

function decoded(path: string, field: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw argumentError(
      `The value '${path.slice(0, 64)}' of ${field} is not percent-encoded UTF-8.`,
    );
  }
}

/**
 * The names of the entities that a description forwards to: at most two; none for a topic. `current` = the description
 * before an update: then only those that the update sets.
 */
export function forwardingDestinations(
  description: EntityDescription,
  current?: EntityDescription,
): readonly string[] {
  if (description.kind === 'topic') return [];
  const before = current?.kind === 'topic' ? undefined : current;
  return FORWARDING.flatMap((setting) => {
    const name = description[setting];
    const isSet = name !== undefined && name.toLowerCase() !== before?.[setting]?.toLowerCase();
    return isSet ? [name] : [];
  });
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

/** ArgumentError: the destination is no queue or topic of this namespace (semantics #125). */
export function forwardingDestinationNotFound(name: string): BrokerError {
  return new BrokerError(
    'ArgumentError',
    `The auto forwarding destination entity doesn't exist. Its name is '${name}'.`,
    { subCode: '40400' },
  );
}
