import type { Transport } from './transport.ts';

/**
 * Why nothing is read: too much waits to be written, or to be done; others have their turn; or a right is
 * checked for a peer that has proved none.
 */
export type PauseReason = 'backlog' | 'deliveries' | 'turn' | 'check';

/** Whether a connection is read from: as long as there is no reason not to. */
export class Intake {
  readonly #transport: Pick<Transport, 'pause' | 'resume'>;
  readonly #onResume: () => void;
  readonly #reasons = new Set<PauseReason>();
  #isClosed = false;

  /** `onResume` handles what was read before the pause. */
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

  /** Reads, and never pauses again: what comes is thrown away, only the end is of interest. */
  close(): void {
    this.#isClosed = true;
    if (!this.isPaused) return;
    this.#reasons.clear();
    this.#transport.resume();
  }
}
