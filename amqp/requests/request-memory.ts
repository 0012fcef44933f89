import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import { connectionMemoryExceeded } from '../service/error-mapping.ts';

/** The memory of one request until it is answered, also after its connection is gone. */
export class RequestMemory {
  readonly #limits: Pick<ConnectionLimits, 'tryHoldWork' | 'releaseWork'>;
  #held = 0;

  constructor(limits: Pick<ConnectionLimits, 'tryHoldWork' | 'releaseWork'>) {
    this.#limits = limits;
  }

  /** Holds bytes, or releases them if negative. Throws ServiceBusy if the connection may hold no more. */
  readonly hold = (bytes: number): void => {
    if (bytes < 0) this.#limits.releaseWork(-bytes);
    else if (!this.#limits.tryHoldWork(bytes)) throw connectionMemoryExceeded();
    this.#held += bytes;
  };

  /** Releases everything, since the request is answered. */
  close(): void {
    this.#limits.releaseWork(this.#held);
    this.#held = 0;
  }
}
