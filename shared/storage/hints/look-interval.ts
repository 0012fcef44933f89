/** The first look for messages of other processes, and the longest time between looks while none arrive. */
export const POLL_MS = { first: 500, most: 2000 } as const;
/** Once receives have waited for the same empty log for so long without a break, ms, they look less often. */
export const CALM_AFTER_MS = 60_000;
/**
 * The time between two looks then, ms: in the main log, whose header is watched meanwhile, and in another sub-queue,
 * in which messages arrive without a change of a header.
 */
const CALM_POLL_MS = { watched: 30_000, unwatched: 10_000 } as const;
/**
 * How long a header must not have changed before a look that finds its log empty counts, ms: a sender changes the
 * header first, and then stores its messages.
 */
const SETTLED_MS = 10_000;
/**
 * The time between two looks while the stream tells of messages, ms: in an empty main log, and elsewhere, where a
 * message may also become available without a write to its log.
 */
const COVERED_POLL_MS = { empty: 30_000, other: 10_000 } as const;

/** What decides how soon one of the receives looks that wait on the same logs. Instants are monotonic ms. */
export interface LookState {
  /** The time between two looks if nothing but looks tells of messages, ms. */
  readonly pollMs: number;
  /** How long receives have waited without a break, ms. */
  readonly waitedMs: number;
  /** When the last look began, if it saw no message at all. */
  readonly emptyAt: number | undefined;
  /** When the last receive began to listen; it looked after that. */
  readonly listenedAt: number;
  /** The number of logs: one for each partition. */
  readonly logs: number;
  /** Whether they are main logs, whose messages take numbers from a header. */
  readonly areMain: boolean;
  /** Since when their headers have not changed; Infinity = that is not known. */
  readonly unchangedSince: number;
  /** Since when every record of the stream reaches this process; Infinity = not now. */
  readonly coveredSince: number;
}

/** The time until the next look, ms. */
export function lookIntervalMs(state: LookState): number {
  const { pollMs, waitedMs, emptyAt, areMain, unchangedSince } = state;
  if (isCovered(state)) {
    return areMain && emptyAt !== undefined ? COVERED_POLL_MS.empty : COVERED_POLL_MS.other;
  }
  const isCalm = waitedMs >= CALM_AFTER_MS && emptyAt !== undefined && pollMs === POLL_MS.most;
  if (!isCalm) return pollMs;
  if (!areMain) return CALM_POLL_MS.unwatched;
  return emptyAt >= unchangedSince + SETTLED_MS ? CALM_POLL_MS.watched : pollMs;
}

/**
 * Whether the stream tells of all that the last look did not see, since the look began when the stream was read
 * already. A look that waits asks only some of several partitions, but all of them once it comes every two seconds.
 */
export function isCovered({
  pollMs,
  emptyAt,
  listenedAt,
  logs,
  coveredSince,
}: Omit<LookState, 'waitedMs' | 'areMain' | 'unchangedSince'>): boolean {
  if (emptyAt !== undefined) return emptyAt >= coveredSince;
  return listenedAt >= coveredSince && (logs === 1 || pollMs === POLL_MS.most);
}
