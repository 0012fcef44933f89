import type { WorkTurns } from './work-turns.ts';

/** So many entries are worked through before others may have their turn. */
const ENTRIES_PER_TURN = 20;

/** Works through a list that may be very long, in turns of `peer`. */
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
