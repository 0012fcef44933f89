import { CONSUMER_LIMITS } from '../domain/consumers/consumer.ts';
import { present } from '../domain/present.ts';
import type { ConsumerState } from './ports.ts';
import { PUSH } from './push-limits.ts';

/**
 * Instants of a stored state that lie further ahead than any worker sets them do not count: the clock was set back
 * since, as a restart of a local server does it whose clock was moved.
 */

/** Whether a worker owns the consumer. */
export function isOwned({ lease }: Pick<ConsumerState, 'lease'>, now: number): boolean {
  return lease !== undefined && lease.until > now && counts(lease.until, now, PUSH.leaseMs);
}

/** A state without the pause and the calls of former owners that do not count. */
export function stateAt({ pause, formerCalls, ...others }: ConsumerState, now: number) {
  const callMsMax = PUSH.leaseMs + CONSUMER_LIMITS.timeoutMsMax;
  const counted = Object.entries(formerCalls).filter(([, { until }]) =>
    counts(until, now, callMsMax),
  );
  const isPause = pause !== undefined && counts(pause.until, now, PUSH.unreachableMs.most);
  return {
    ...others,
    formerCalls: Object.fromEntries(counted),
    ...present({ pause: isPause ? pause : undefined }),
  };
}

function counts(instant: number, now: number, mostMs: number): boolean {
  return instant <= now + mostMs + PUSH.clocksDifferMs;
}
