import type { MovableClock } from '../movable-clock.ts';

const USAGE = 'Send either {"advanceSeconds": 60} or {"now": "2030-01-01T00:00:00Z"}.';

interface MoveRequest {
  readonly advanceSeconds?: unknown;
  readonly now?: unknown;
}

/** Moves the clock as the body of a request says, or returns the reason why it cannot. */
export function moveClock(clock: MovableClock, body: unknown): string | undefined {
  const { advanceSeconds, now }: MoveRequest =
    typeof body === 'object' && body !== null ? body : {};
  try {
    if (typeof advanceSeconds === 'number') clock.advance(toMilliseconds(advanceSeconds));
    else if (typeof now === 'string') clock.set(Date.parse(now));
    else return USAGE;
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

/**
 * Converts without rounding errors: 1.1 s are whole milliseconds, although 1.1 * 1000 is not a whole number. A
 * fraction of a millisecond, as in 0.0005 s, stays a fraction.
 */
function toMilliseconds(seconds: number): number {
  const rounded = Math.round(seconds * 1000);
  return rounded / 1000 === seconds ? rounded : seconds * 1000;
}
