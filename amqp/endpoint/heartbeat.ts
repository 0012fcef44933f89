import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';

/** Our idle-time-out: the peer sends at least this often, and one that is silent twice as long is gone. */
export const IDLE_MS = 240_000;
const TICK_MS_MAX = 30_000;
const TICK_MS_MIN = 100;

/** What a heartbeat needs of its connection. */
export interface HeartbeatHost {
  /** The time of the last write, monotonic ms. */
  lastWriteAt(): number;
  /** Writes an empty frame. */
  sendEmptyFrame(): void;
  /** Ends the connection, since the peer is silent for too long. */
  timeOut(): void;
}

/** Sends empty frames when nothing else was sent, and ends a connection whose peer is silent for too long. */
export class Heartbeat {
  readonly #scheduler: Scheduler;
  readonly #host: HeartbeatHost;
  #lastInputAt: number;
  #timer: Timer | undefined;

  constructor(scheduler: Scheduler, host: HeartbeatHost) {
    this.#scheduler = scheduler;
    this.#host = host;
    this.#lastInputAt = scheduler.now();
  }

  /**
   * Starts. `idleTimeOutMs` = the peer's idle-time-out, within which it wants to receive a frame; 0 or absent = it
   * has none. If nothing else was sent, an empty frame goes out after a third of it, so that delays do no harm, and at
   * the latest every 30 s, also without one.
   */
  start(idleTimeOutMs: number | undefined): void {
    const everyMs = Math.min((idleTimeOutMs || Number.POSITIVE_INFINITY) / 3, TICK_MS_MAX);
    this.#timer = this.#scheduler.every(Math.max(everyMs, TICK_MS_MIN), () => this.#tick(everyMs));
  }

  /** Notes that the peer sent something. */
  inputReceived(): void {
    this.#lastInputAt = this.#scheduler.now();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #tick(everyMs: number): void {
    const now = this.#scheduler.now();
    if (now - this.#lastInputAt > 2 * IDLE_MS) this.#host.timeOut();
    else if (now - this.#host.lastWriteAt() >= everyMs) this.#host.sendEmptyFrame();
  }
}
