import { NothingStored } from '../../domain/broker-error.ts';
import { type Entity, partitionsOf } from '../../domain/entities/entity.ts';
import type { Message } from '../../domain/messages/message.ts';
import { partitionKeyOf, partitionOfKey } from '../../domain/messages/partition.ts';
import type { BrokerParts } from '../dependencies.ts';

/** Where messages are to go in an entity. */
export interface Placement {
  readonly partition: number;
  /** Whether they have to lie there and nowhere else. */
  readonly isFixed: boolean;
  /** How many partitions have been tried, with this one. */
  readonly tries: number;
}

/** In a whole outage more tries would only add to it. */
const TRIES_MAX = 4;

/** Where messages with this key belong; without one, it is some partition's turn (semantics #P6, #P7). */
export function placeFor(parts: BrokerParts, entity: Entity, key: string | undefined): Placement {
  const partitions = partitionsOf(entity);
  if (partitions === 1) return { partition: 0, isFixed: true, tries: 1 };
  const isFixed = key !== undefined;
  const partition = isFixed ? partitionOfKey(key, partitions) : parts.turns.next(entity);
  return { partition, isFixed, tries: 1 };
}

/** Messages that come from elsewhere, together with those that belong into the same partition. */
export function placesFor(
  parts: BrokerParts,
  entity: Entity,
  messages: readonly Message[],
): readonly { readonly place: Placement; readonly messages: readonly Message[] }[] {
  const groups = new Map<number | undefined, { place: Placement; messages: Message[] }>();
  const { description } = entity;
  for (const message of messages) {
    const isKeyless = partitionsOf(entity) === 1 || description.kind === 'subscription';
    const key = isKeyless ? undefined : partitionKeyOf(message, description);
    const name = key === undefined ? undefined : partitionOfKey(key, partitionsOf(entity));
    const group = groups.get(name);
    if (group === undefined) {
      groups.set(name, { place: placeFor(parts, entity, key), messages: [message] });
    } else group.messages.push(message);
  }
  return [...groups.values()];
}

/**
 * Where messages go after a partition failed to take them. Those without a key go to another one if nothing
 * can have been stored in this one; a key leaves no choice (semantics P16). Throws `error` where
 * there is no other place.
 */
export function placeAfter(
  parts: BrokerParts,
  entity: Entity,
  { partition, isFixed, tries }: Placement,
  error: unknown,
): Placement {
  if (isFixed || !(error instanceof NothingStored)) throw error;
  parts.turns.avoid(entity, partition);
  if (tries >= TRIES_MAX) throw error;
  return { partition: parts.turns.next(entity), isFixed, tries: tries + 1 };
}
