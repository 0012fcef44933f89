import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import { connectionMemoryExceeded } from '../service/error-mapping.ts';

/** What one request has the process hold until it is answered, also when its connection is gone. */
export class RequestMemory {
  readonly #limits: Pick<ConnectionLimits, 'tryHoldWork' | 'releaseWork'>;
  #held = 0;

  constructor(limits: Pick<ConnectionLimits, 'tryHoldWork' | 'releaseWork'>) {
    this.#limits = limits;
  }

  /** Holds so many bytes more, or, as a negative number, less. Throws ServiceBusy where there is no room. */
  readonly hold = (bytes: number): void => {
    if (bytes < 0) this.#limits.releaseWork(-bytes);
    else if (!this.#limits.tryHoldWork(bytes)) throw connectionMemoryExceeded();
    this.#held += bytes;
  };

  /** The request is answered. */
  close(): void {
    this.#limits.releaseWork(this.#held);
    this.#held = 0;
  }
}
