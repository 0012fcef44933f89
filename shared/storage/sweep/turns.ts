import type { Clock } from '../../domain/clock.ts';
import type { Entity } from '../../domain/entity.ts';

/** What each entity needs once in a while: some of them at each run, rather than all at once. */

const MINUTE = 60_000;
export const MINUTES_OF_HOUR = 60;
export const MINUTES_OF_DAY = 24 * 60;

/** Whether this minute is an entity's among so many. */
export function isInTurn(
  { clock }: { readonly clock: Clock },
  entity: Pick<Entity, 'id'>,
  minutes: number,
): boolean {
  return Math.floor(clock.now() / MINUTE) % minutes === minuteOf(entity) % minutes;
}

/** Spreads entities over the day. */
export function minuteOf({ id }: Pick<Entity, 'id'>): number {
  let hash = 0;
  for (const letter of id) hash = (hash * 31 + letter.charCodeAt(0)) % MINUTES_OF_DAY;
  return hash;
}
