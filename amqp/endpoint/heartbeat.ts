import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';

/** We want to hear something this often; a peer that is silent twice as long is gone. */
export const IDLE_MS = 240_000;
const TICK_MS_MAX = 30_000;
const TICK_MS_MIN = 100;

/** What a heartbeat asks of its connection. */
export interface HeartbeatHost {
  /** When something was written last, monotonic ms. */
  saidAt(): number;
  /** Writes an empty frame. */
  say(): void;
  /** Ends the connection: the peer has not been heard for long. */
  silent(): void;
}

/** Says something where nothing was to be said, and ends what has not been heard for long. */
export class Heartbeat {
  readonly #scheduler: Scheduler;
  readonly #host: HeartbeatHost;
  #heardAt: number;
  #timer: Timer | undefined;

  constructor(scheduler: Scheduler, host: HeartbeatHost) {
    this.#scheduler = scheduler;
    this.#host = host;
    this.#heardAt = scheduler.now();
  }

  /** Begins, for a peer that wants to hear something this often, ms; 0 and nothing = never. */
  start(idleTimeOutMs: number | undefined): void {
    const everyMs = Math.min((idleTimeOutMs || Number.POSITIVE_INFINITY) / 3, TICK_MS_MAX);
    this.#timer = this.#scheduler.every(Math.max(everyMs, TICK_MS_MIN), () => this.#tick(everyMs));
  }

  heard(): void {
    this.#heardAt = this.#scheduler.now();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #tick(everyMs: number): void {
    const now = this.#scheduler.now();
    if (now - this.#heardAt > 2 * IDLE_MS) this.#host.silent();
    else if (now - this.#host.saidAt() >= everyMs) this.#host.say();
  }
}
