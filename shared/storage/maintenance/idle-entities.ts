import { logOf } from '../../domain/blocks/log.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { type Entity, forwardsMessages, partitionsOf } from '../../domain/entities/entity.ts';
import { readPartitionHeader } from '../append/partition-header.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { TOUCH_EVERY_MS } from '../entities/activity.ts';
import { blockSortKey } from '../schema/message-keys.ts';
import type { SweepDependencies } from './sweep-run.ts';

/**
 * Deletes an entity that was not used for the length of its AutoDeleteOnIdle (semantics V5, M26). A scheduled
 * message or ForwardTo keeps the entity. Uses are stored only now and then, so the time counts from the latest possible
 * use, and no entity is deleted early (semantics #142). True = the entity is gone.
 */
export async function removeIdle(
  dependencies: SweepDependencies,
  entity: Entity,
): Promise<boolean> {
  const { autoDeleteOnIdleMs } = entity.description;
  // An entity without the setting is never deleted (semantics #A19).
  if (autoDeleteOnIdleMs === undefined || forwardsMessages(entity)) return false;
  const now = dependencies.clock.now();
  const idleSince = now - autoDeleteOnIdleMs;
  if (lastNoticed(dependencies, entity) > idleSince) return false;
  try {
    if (await isKeptByMessages(dependencies, entity, idleSince)) return false;
  } catch (error) {
    if (error instanceof BrokerError && error.code === 'MessagingEntityNotFound') return true;
    throw error;
  }
  return await dependencies.entities.removeIfIdle(entity, now, idleSince);
}

/** The latest instant at which the entity may have been used, as far as was noticed. */
function lastNoticed({ activity }: SweepDependencies, entity: Entity): number {
  const { createdAt, updatedAt, accessedAt = 0 } = entity;
  // Another process may have seen a use since it last wrote one down.
  const unnoticed = accessedAt > 0 ? TOUCH_EVERY_MS : 0;
  return Math.max(createdAt, updatedAt, accessedAt + unnoticed, activity.usedAt(entity) ?? 0);
}

async function isKeptByMessages(
  { context }: SweepDependencies,
  entity: Entity,
  idleSince: number,
): Promise<boolean> {
  for (let partition = 0; partition < partitionsOf(entity); partition++) {
    const log = logOf(entity, 'main', partition);
    const { sentAt } = await readPartitionHeader(context.table, log);
    if (sentAt !== undefined && sentAt > idleSince) return true;
    const scheduled = await readBlocks(context, log, {
      from: blockSortKey('scheduled', 0n),
      to: 't',
      limit: 1,
      consistent: true,
    });
    if (scheduled.blocks.length > 0) return true;
  }
  return false;
}
