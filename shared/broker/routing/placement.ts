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
}

/** In a whole outage more tries would only add to it. */
const TRIES_MAX = 4;

/** Where messages with this key belong; without one, it is some partition's turn (semantics #P6, #P7). */
export function placeFor(parts: BrokerParts, entity: Entity, key: string | undefined): Placement {
  const partitions = partitionsOf(entity);
  if (partitions === 1) return { partition: 0, isFixed: true };
  if (key !== undefined) return { partition: partitionOfKey(key, partitions), isFixed: true };
  return { partition: parts.turns.next(entity), isFixed: false };
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
 * Stores messages where they are to go. Where a partition refuses those without a key, and nothing
 * can have been stored there, another one takes them; a key leaves no choice, and the refusal is the
 * sender's (semantics P16).
 */
export async function storeAt<Stored>(
  parts: BrokerParts,
  entity: Entity,
  { partition: first, isFixed }: Placement,
  store: (partition: number) => Promise<Stored>,
): Promise<Stored> {
  let partition = first;
  for (let tries = 1; ; tries++) {
    try {
      return await store(partition);
    } catch (error) {
      if (isFixed || !(error instanceof NothingStored)) throw error;
      parts.turns.avoid(entity, partition);
      if (tries >= TRIES_MAX) throw error;
      partition = parts.turns.next(entity);
    }
  }
}
