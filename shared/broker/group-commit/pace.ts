/** The longest wait for more calls, ms, and only where the last group had several callers. */
export const GATHER_MS_MAX = 10;
/** The first wait of a lane that lingers for still more calls, ms; it doubles while they come. */
const LINGER_MS = 1;

/** How long a group waits for more calls. */
export interface Patience {
  /**
   * How long a group waits for as many callers as the last one had: a share of the time that the last one took, since
   * callers that take longer would wait for each other while nobody writes.
   */
  readonly patience: number;
  /**
   * How long a group may wait for more calls than expected while calls keep coming, ms: their callers are in no hurry.
   * Default: not at all.
   */
  readonly lingerMsMax?: number;
}

/** What became of a group. */
interface EndedGroup {
  readonly callers: number;
  /** How many calls arrived while it was under way. */
  readonly arrived: number;
  /** Monotonic ms. */
  readonly beganAt: number;
}

/**
 * Decides when the next group of a lane starts: at once, unless the last one had several callers and just ended. Times
 * are monotonic, ms.
 */
export class Pace {
  readonly #patience: Patience;
  /** When the first of the waiting calls arrived. */
  #arrivedAt = 0;
  /** How many callers the last group had, and how many there were with those that came meanwhile. */
  #lastCallers = 1;
  #expectedCallers = 1;
  /** How long the last group took, and when it ended. */
  #lastMs = 0;
  #endedAt = Number.NEGATIVE_INFINITY;
  /** How long to linger, and how many calls waited when that began. */
  #lingerMs = 0;
  #beforeLinger: number | undefined;

  constructor(patience: Patience) {
    this.#patience = patience;
  }

  /** Whether the last group had several callers. */
  get hadCompany(): boolean {
    return this.#lastCallers > 1;
  }

  /** The first of the waiting calls arrived; -Infinity = it has waited for a group already. */
  arrived(at: number): void {
    this.#arrivedAt = at;
  }

  /** When the next group starts if no other call arrives. `waiting` = how many calls wait. */
  startsAt(waiting: number): number {
    const readyAt = Math.max(this.#arrivedAt, this.#endedAt);
    const isSoon = readyAt - this.#endedAt <= GATHER_MS_MAX;
    if (!this.hadCompany || !isSoon) return readyAt;
    const areMissing = waiting < this.#expectedCallers;
    const gatherMs = areMissing ? this.#patience.patience * this.#lastMs : 0;
    this.#beforeLinger ??= waiting;
    return readyAt + Math.max(Math.min(GATHER_MS_MAX, gatherMs), this.#lingerMs);
  }

  /** A group starts with the calls that wait. */
  started(waiting: number): void {
    // A wait that brought nobody is not repeated.
    if (waiting === this.#beforeLinger) this.#lingerMs = 0;
    this.#beforeLinger = undefined;
  }

  ended({ callers, arrived, beganAt }: EndedGroup, now: number): void {
    this.#lastCallers = callers;
    this.#expectedCallers = callers + arrived;
    this.#endedAt = now;
    this.#lastMs = now - beganAt;
    const keepComing = this.hadCompany && arrived > 0;
    const { lingerMsMax = 0 } = this.#patience;
    if (keepComing) this.#lingerMs = Math.min(lingerMsMax, Math.max(LINGER_MS, 2 * this.#lingerMs));
  }
}
