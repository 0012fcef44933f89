import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { ErrorInfo } from '../wire/states.ts';
import type { ConnectionLimits } from './connection-limits.ts';

/** Places of the queue that are done with are dropped together, once there are so many. */
const DONE_MAX = 1000;

/** Something that is done once the window lets it; tells whether it is done. */
interface Waiting {
  readonly bytes: number;
  readonly proceed: () => boolean;
  /** Told where it is not done any more. */
  readonly dropped: () => void;
}

/** What a queue needs of its connection. */
export interface QueueHost {
  readonly limits: ConnectionLimits;
  /** Ends the whole connection. */
  close(error: ErrorInfo): void;
}

/** What waits, in order, for the peer to open the window of a session. */
export class WindowQueue {
  readonly #host: QueueHost;
  #waiting: Waiting[] = [];
  /** How many at the front are done with: to shift each out of a long array would move the others. */
  #done = 0;

  constructor(host: QueueHost) {
    this.#host = host;
  }

  /** Puts something behind what waits, and does what can be done. */
  add(bytes: number, proceed: () => boolean, dropped: () => void = () => {}): void {
    const isFull = this.#waiting.length - this.#done >= BUDGETS.connection.waitingForWindow;
    if (isFull || !this.#host.limits.tryWait(bytes)) {
      const description = 'Too much waits for the window of the session, which stays closed.';
      dropped();
      this.#host.close({ condition: 'amqp:resource-limit-exceeded', description });
      return;
    }
    this.#waiting.push({ bytes, proceed, dropped });
    this.proceed();
  }

  /** Does what can be done now. */
  proceed(): void {
    for (;;) {
      const next = this.#waiting[this.#done];
      if (next === undefined || !next.proceed()) break;
      // What was done may have ended the session, and with it the queue.
      if (this.#waiting[this.#done] !== next) break;
      this.#done++;
      this.#host.limits.waited(next.bytes);
    }
    if (this.#done < DONE_MAX && this.#done < this.#waiting.length) return;
    this.#waiting = this.#waiting.slice(this.#done);
    this.#done = 0;
  }

  clear(): void {
    const left = this.#waiting.slice(this.#done);
    this.#waiting = [];
    this.#done = 0;
    for (const { bytes, dropped } of left) {
      this.#host.limits.waited(bytes);
      dropped();
    }
  }
}
