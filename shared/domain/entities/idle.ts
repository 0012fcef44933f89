import { type Entity, forwardsMessages } from './entity.ts';

/** After how long without a use an entity is deleted, ms (semantics #A18); undefined = never (semantics #A19). */
export function idleMsOf(entity: Pick<Entity, 'description'>): number | undefined {
  return forwardsMessages(entity) ? undefined : entity.description.autoDeleteOnIdleMs;
}

/**
 * When to check next whether an idle entity may be deleted, epoch ms. `deletableAt` = when it may be deleted unless it
 * is used until then. Checks take place at this instant and at multiples of AutoDeleteOnIdle since the creation. So
 * checks that were planned at different times meet again after one AutoDeleteOnIdle at most, and do not become more
 * with time.
 */
export function nextIdleCheck(
  { createdAt }: Pick<Entity, 'createdAt'>,
  idleMs: number,
  deletableAt: number,
  now: number,
): number {
  const times = Math.floor((now - createdAt) / idleMs) + 1;
  return Math.min(deletableAt, createdAt + times * idleMs);
}
