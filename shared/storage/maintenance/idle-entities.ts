import { logOf } from '../../domain/blocks/log.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { type Entity, partitionsOf } from '../../domain/entities/entity.ts';
import { idleMsOf, nextIdleCheck } from '../../domain/entities/idle.ts';
import { MINUTE_MS } from '../../domain/units.ts';
import { readPartitionHeader } from '../append/partition-header.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { TOUCH_EVERY_MS } from '../entities/activity.ts';
import { blockSortKey } from '../schema/message-keys.ts';
import type { SweepDependencies } from './sweep-run.ts';

/** The shortest time from a check that could not delete the entity to the next one. */
const CHECKS_APART_MS = MINUTE_MS;

/**
 * Deletes an entity that was not used for the length of its AutoDeleteOnIdle (semantics V5, M26), or adds due work for
 * the next check. A scheduled message or ForwardTo keeps the entity. Uses are stored only now and then, so the time
 * counts from the latest possible use, and no entity is deleted early (semantics #142). True = the entity is gone.
 */
export async function removeIdle(
  dependencies: SweepDependencies,
  entity: Entity,
): Promise<boolean> {
  const idleMs = idleMsOf(entity);
  if (idleMs === undefined) return false;
  const now = dependencies.clock.now();
  let deletableAt = lastNoticed(dependencies, entity) + idleMs;
  try {
    if (deletableAt <= now) deletableAt = await keptUntil(dependencies, entity, idleMs, now);
  } catch (error) {
    if (error instanceof BrokerError && error.code === 'MessagingEntityNotFound') return true;
    throw error;
  }
  if (deletableAt <= now) {
    if (await dependencies.entities.removeIfIdle(entity, now, now - idleMs)) return true;
    // It was used, updated, purged or deleted just now.
    deletableAt = now + CHECKS_APART_MS;
  }
  await addCheck(dependencies, entity, nextIdleCheck(entity, idleMs, deletableAt, now));
  return false;
}

/** Adds due work for the next check of an entity that may have none. One write unit with AutoDeleteOnIdle. */
export async function addIdleCheck(dependencies: SweepDependencies, entity: Entity): Promise<void> {
  const idleMs = idleMsOf(entity);
  if (idleMs === undefined) return;
  const now = dependencies.clock.now();
  const deletableAt = lastNoticed(dependencies, entity) + idleMs;
  await addCheck(dependencies, entity, nextIdleCheck(entity, idleMs, deletableAt, now));
}

async function addCheck({ context }: SweepDependencies, entity: Entity, at: number): Promise<void> {
  await context.addDueWork(logOf(entity, 'main', 0), at);
}

/** The latest instant at which the entity may have been used, as far as was noticed. */
function lastNoticed({ activity }: SweepDependencies, entity: Entity): number {
  const { createdAt, updatedAt, accessedAt = 0 } = entity;
  // Another process may have seen a use since it last wrote one down.
  const unnoticed = accessedAt > 0 ? TOUCH_EVERY_MS : 0;
  return Math.max(createdAt, updatedAt, accessedAt + unnoticed, activity.usedAt(entity) ?? 0);
}

/**
 * Until when at least a stored send or a scheduled message keeps the entity, epoch ms; `now` = none does. An activation
 * counts as a send. Throws MessagingEntityNotFound.
 */
async function keptUntil(
  { context }: SweepDependencies,
  entity: Entity,
  idleMs: number,
  now: number,
): Promise<number> {
  for (let partition = 0; partition < partitionsOf(entity); partition++) {
    const log = logOf(entity, 'main', partition);
    const { sentAt = 0, nextDueAt = 0 } = await readPartitionHeader(context.table, log);
    if (sentAt + idleMs > now) return sentAt + idleMs;
    const scheduled = await readBlocks(context, log, {
      from: blockSortKey('scheduled', 0n),
      to: 't',
      limit: 1,
      consistent: true,
    });
    if (scheduled.blocks.length > 0) return Math.max(nextDueAt, now + CHECKS_APART_MS);
  }
  return now;
}
