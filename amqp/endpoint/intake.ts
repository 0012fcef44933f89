import type { Transport } from './transport.ts';

/**
 * Why reading is paused. `backlog`: too much output waits. `deliveries`: too many deliveries have no outcome.
 * `turn`: others have their turn. `check`: a right of an unauthorized peer is being checked.
 */
export type PauseReason = 'backlog' | 'deliveries' | 'turn' | 'check';

/** Pauses the reading of a connection while there is at least one reason to. */
export class Intake {
  readonly #transport: Pick<Transport, 'pause' | 'resume'>;
  readonly #onResume: () => void;
  readonly #reasons = new Set<PauseReason>();
  #isClosed = false;

  /** `onResume` handles input that was read before the pause. */
  constructor(transport: Pick<Transport, 'pause' | 'resume'>, onResume: () => void) {
    this.#transport = transport;
    this.#onResume = onResume;
  }

  get isPaused(): boolean {
    return this.#reasons.size > 0;
  }

  pause(reason: PauseReason): void {
    if (this.#isClosed) return;
    if (!this.isPaused) this.#transport.pause();
    this.#reasons.add(reason);
  }

  resume(reason: PauseReason): void {
    if (!this.#reasons.delete(reason) || this.isPaused) return;
    this.#transport.resume();
    this.#onResume();
  }

  /** Resumes for good: a closed connection ignores its input and only waits for the end of it. */
  close(): void {
    this.#isClosed = true;
    if (!this.isPaused) return;
    this.#reasons.clear();
    this.#transport.resume();
  }
}
