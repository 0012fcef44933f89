import type { LocalPartitionHints } from '../hints/partition-hints.ts';
import type { LocalWakeUps } from '../hints/wake-ups.ts';
import type { StoreContext } from '../store-context.ts';
import type { News } from './news.ts';

/** What hears of messages that were stored. */
export interface Hearing {
  readonly context: Pick<StoreContext, 'scanHints' | 'dueTimes' | 'clock' | 'ownBlocks'>;
  readonly partitionHints: Pick<LocalPartitionHints, 'noteArrival'>;
  readonly wakeUps: LocalWakeUps;
}

/** After this time, ms, no process uses what it remembers of an entity that was deleted: see leases.ts. */
const GONE_MS = 2300;

/** The letter and the generation at the end of a log's key. */
const LOG_SUFFIX = /[mdt]\d+$/;

/**
 * Wakes waiting receives of this process for what other processes stored, and drops hints that would hide it, as
 * `announce` does for its own messages.
 */
export function hear(
  { context, partitionHints, wakeUps }: Hearing,
  { blocks, sessions, due, gone }: News,
): void {
  const { scanHints, dueTimes, ownBlocks } = context;
  const now = context.clock.now();
  for (const { log, sortKey, isNew, messages, freeAt } of blocks) {
    if (!wakeUps.isAwaited(log) || (isNew && ownBlocks?.has(log, sortKey))) continue;
    if (freeAt > now) {
      // No hint hides a locked message for longer than its lock.
      wakeUps.expectChange(log, freeAt - now);
      continue;
    }
    scanHints.noteBlock(log, sortKey);
    partitionHints.noteArrival(log);
    wakeUps.wake(log, messages);
  }
  for (const [log, readyAt] of sessions) {
    if (readyAt > now) wakeUps.expectChange(log, readyAt - now);
    else wakeUps.wake(log, 1);
  }
  const dueInMs = new Map<string, number>();
  for (const [log, dueAt] of due) {
    const header = log.replace(LOG_SUFFIX, '');
    dueTimes.forgetNamed(log);
    dueInMs.set(header, Math.min(Math.max(0, dueAt - now), dueInMs.get(header) ?? Infinity));
  }
  for (const header of gone) dueInMs.set(header, GONE_MS);
  wakeUps.expectDue(dueInMs);
}
