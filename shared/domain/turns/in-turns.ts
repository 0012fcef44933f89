import type { WorkTurns } from './work-turns.ts';

/** Entries that are handled before other work may have its turn. */
const ENTRIES_PER_TURN = 20;

/** Calls `work` for each entry of a list that may be very long, and lets other peers work in between. */
export async function inTurns<T>(
  workTurns: Pick<WorkTurns, 'next'>,
  peer: object,
  list: Iterable<T>,
  work: (entry: T) => void,
): Promise<void> {
  let before = ENTRIES_PER_TURN;
  for (const entry of list) {
    if (before-- === 0) {
      before = ENTRIES_PER_TURN - 1;
      await workTurns.next(peer);
    }
    work(entry);
  }
}
