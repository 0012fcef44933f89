import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { Transport } from './handlers.ts';

/** What may wait to be taken by the peer before nothing more is heard of it. */
const BACKLOG_BYTES_MAX = 16 * 1024 * 1024;

/**
 * What goes out on a connection: the work of one turn leaves in one write. Who asks and never reads
 * the answers is not listened to until it does, or is gone for having said nothing for too long.
 */
export class Outbox {
  readonly #transport: Transport;
  readonly #scheduler: Scheduler;
  #waiting: Uint8Array[] = [];
  #saidAt: number;
  #isPaused = false;

  constructor(transport: Transport, scheduler: Scheduler) {
    this.#transport = transport;
    this.#scheduler = scheduler;
    this.#saidAt = scheduler.now();
  }

  /** When something was written last, monotonic ms. */
  get saidAt(): number {
    return this.#saidAt;
  }

  write(bytes: Uint8Array): void {
    if (this.#waiting.length === 0) this.#scheduler.soon(() => this.flush());
    this.#waiting.push(bytes);
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    this.#saidAt = this.#scheduler.now();
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#transport.write(bytes, () => this.#written());
    if (this.#isPaused || this.#transport.backlog <= BACKLOG_BYTES_MAX) return;
    this.#isPaused = true;
    this.#transport.pause();
  }

  /** Drops what was not written: nobody is there any more. */
  clear(): void {
    this.#waiting = [];
  }

  #written(): void {
    if (!this.#isPaused || this.#transport.backlog > BACKLOG_BYTES_MAX / 2) return;
    this.#isPaused = false;
    this.#transport.resume();
  }
}
