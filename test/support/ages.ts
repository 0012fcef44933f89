import { AgeClock } from '../../shared/domain/age.ts';

/** An age clock over a monotonic clock that the test moves; the wall clock stands still. */
export function agesBy(monotonicNow: () => number): AgeClock {
  return new AgeClock({ now: () => 0 }, monotonicNow);
}
