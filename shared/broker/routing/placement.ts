import { NothingStored } from '../../domain/broker-error.ts';
import { type Entity, partitionsOf } from '../../domain/entities/entity.ts';
import type { Message } from '../../domain/messages/message.ts';
import { partitionOfKey, placementKeyOf } from '../../domain/messages/partition.ts';
import type { BrokerDependencies } from '../dependencies.ts';

/** The partition for messages of an entity. */
export interface Placement {
  readonly partition: number;
  /** Whether no other partition will do: a key requires this one, or there is only one. */
  readonly isFixed: boolean;
  /** The number of tries, including this one. */
  readonly tries: number;
}

/** More tries would only add load to an outage. */
const TRIES_MAX = 4;

/** The partition of a key; without a key, the next one round robin (semantics #P6, #P7). */
export function placeFor(
  dependencies: BrokerDependencies,
  entity: Entity,
  key: string | undefined,
): Placement {
  const partitions = partitionsOf(entity);
  if (partitions === 1) return { partition: 0, isFixed: true, tries: 1 };
  const isFixed = key !== undefined;
  const partition = isFixed
    ? partitionOfKey(key, partitions)
    : dependencies.partitionSelector.next(entity);
  return { partition, isFixed, tries: 1 };
}

/** Groups forwarded messages by the partition that they belong to. */
export function placesFor(
  dependencies: BrokerDependencies,
  entity: Entity,
  messages: readonly Message[],
): readonly { readonly placement: Placement; readonly messages: readonly Message[] }[] {
  const groups = new Map<number | undefined, { placement: Placement; messages: Message[] }>();
  const { description } = entity;
  for (const message of messages) {
    const isKeyless = partitionsOf(entity) === 1 || description.kind === 'subscription';
    const key = isKeyless ? undefined : placementKeyOf(message, description);
    const name = key === undefined ? undefined : partitionOfKey(key, partitionsOf(entity));
    const group = groups.get(name);
    if (group === undefined) {
      groups.set(name, { placement: placeFor(dependencies, entity, key), messages: [message] });
    } else group.messages.push(message);
  }
  return [...groups.values()];
}

/**
 * The next partition after one failed: another one for messages without a key, if nothing can have been stored in this
 * one; a key leaves no choice (semantics P16). Throws `error` if there is no other partition to try.
 */
export function placeAfter(
  dependencies: BrokerDependencies,
  entity: Entity,
  { partition, isFixed, tries }: Placement,
  error: unknown,
): Placement {
  if (isFixed || !(error instanceof NothingStored)) throw error;
  dependencies.partitionSelector.avoid(entity, partition);
  if (tries >= TRIES_MAX) throw error;
  return { partition: dependencies.partitionSelector.next(entity), isFixed, tries: tries + 1 };
}
