import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { ErrorInfo } from '../wire/states.ts';
import type { ConnectionLimits } from './connection-limits.ts';

/** Finished entries are removed together, once there are this many. */
const DONE_MAX = 1000;

interface QueuedWork {
  readonly bytes: number;
  /** Proceeds as far as the window allows; returns whether the work is finished. */
  readonly proceed: () => boolean;
  /** Called if the work is dropped. */
  readonly onDropped: () => void;
}

/** What the queue needs of its connection. */
export interface QueueHost {
  readonly limits: ConnectionLimits;
  /** Ends the whole connection. */
  close(error: ErrorInfo): void;
}

/** Work that waits, in order, for the peer to open the window of a session. */
export class WindowQueue {
  readonly #host: QueueHost;
  #waiting: QueuedWork[] = [];
  /** How many entries at the front are finished. To shift each out of a long array would move all others. */
  #done = 0;

  constructor(host: QueueHost) {
    this.#host = host;
  }

  /**
   * Adds work of `bytes`, and proceeds. If the queue is full or the connection may hold no more, calls
   * `onDropped` and closes the connection.
   */
  add(bytes: number, proceed: () => boolean, onDropped: () => void = () => {}): void {
    const isFull = this.#waiting.length - this.#done >= BUDGETS.connection.waitingForWindow;
    if (isFull || !this.#host.limits.tryHoldOutgoing(bytes)) {
      const description = 'Too many messages wait for the session window, which stays closed.';
      onDropped();
      this.#host.close({ condition: 'amqp:resource-limit-exceeded', description });
      return;
    }
    this.#waiting.push({ bytes, proceed, onDropped });
    this.proceed();
  }

  /** Proceeds with the work, as far as the window allows. */
  proceed(): void {
    for (;;) {
      const next = this.#waiting[this.#done];
      if (next === undefined || !next.proceed()) break;
      // The work may have ended the session and thereby cleared the queue.
      if (this.#waiting[this.#done] !== next) break;
      this.#done++;
      this.#host.limits.releaseOutgoing(next.bytes);
    }
    if (this.#done < DONE_MAX && this.#done < this.#waiting.length) return;
    this.#waiting = this.#waiting.slice(this.#done);
    this.#done = 0;
  }

  clear(): void {
    const left = this.#waiting.slice(this.#done);
    this.#waiting = [];
    this.#done = 0;
    for (const { bytes, onDropped } of left) {
      this.#host.limits.releaseOutgoing(bytes);
      onDropped();
    }
  }
}
