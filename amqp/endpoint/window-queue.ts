import type { ErrorInfo } from '../wire/states.ts';
import type { Holdings } from './holdings.ts';

/** What may wait for the window; a peer that never opens it could ask for more and more. */
const WAITING_MAX = 100_000;

/** Something that is done once the window lets it; tells whether it is done. */
interface Waiting {
  readonly bytes: number;
  readonly proceed: () => boolean;
}

/** What a queue needs of its connection. */
export interface QueueHost {
  readonly holdings: Holdings;
  /** Ends the whole connection. */
  close(error: ErrorInfo): void;
}

/** What waits, in order, for the peer to open the window of a session. */
export class WindowQueue {
  readonly #host: QueueHost;
  readonly #waiting: Waiting[] = [];

  constructor(host: QueueHost) {
    this.#host = host;
  }

  /** Puts something behind what waits, and does what can be done. */
  add(bytes: number, proceed: () => boolean): void {
    if (this.#waiting.length >= WAITING_MAX) {
      const description = 'The window of the session stays closed for too long.';
      this.#host.close({ condition: 'amqp:resource-limit-exceeded', description });
      return;
    }
    this.#waiting.push({ bytes, proceed });
    this.#host.holdings.waits(bytes);
    this.proceed();
  }

  /** Does what can be done now. */
  proceed(): void {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || !next.proceed()) return;
      this.#waiting.shift();
      this.#host.holdings.waits(-next.bytes);
    }
  }

  clear(): void {
    for (const { bytes } of this.#waiting.splice(0)) this.#host.holdings.waits(-bytes);
  }
}
