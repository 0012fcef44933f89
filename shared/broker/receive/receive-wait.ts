import type { Log } from '../../domain/blocks/log.ts';
import type { ReceiveOptions } from '../broker.ts';
import type { BrokerParts } from '../dependencies.ts';
import type { Arrival } from '../ports/wake-ups.ts';

/**
 * The waits of one receive between its looks, until the time is over or whoever asked gives up. To
 * be ended in any case: others may wait for it to say that there is more.
 */
export class Vigil {
  readonly #parts: Pick<BrokerParts, 'arrivals' | 'clock' | 'monotonicNow'>;
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  /** What has woken us. */
  #woken: Arrival | undefined;
  #next: Arrival | undefined;

  constructor(
    parts: Pick<BrokerParts, 'arrivals' | 'clock' | 'monotonicNow'>,
    waitMs: number,
    signal: AbortSignal | undefined,
  ) {
    this.#parts = parts;
    this.#deadline = parts.monotonicNow() + waitMs;
    this.#signal = signal;
  }

  get isGivenUp(): boolean {
    return this.#signal?.aborted === true;
  }

  /**
   * Starts to listen: to be called before each look, so that nothing slips through in between. False
   * = the time is over, so that the look which follows is the last.
   */
  listen(logs: readonly Log[]): boolean {
    const { arrivals, monotonicNow } = this.#parts;
    const left = arrivals.isClosing ? 0 : this.#deadline - monotonicNow();
    this.#next = left > 0 ? arrivals.wait(logs, left) : undefined;
    return this.#next !== undefined;
  }

  /** Waits after a look in vain; `changesAt` = when it would no longer be, epoch ms. */
  async pause(changesAt = Number.POSITIVE_INFINITY): Promise<void> {
    // Then the end passes on what has woken us: what was found may be there for others.
    if (this.isGivenUp) return;
    const next = this.#next;
    this.#woken?.lookedInVain();
    this.#woken = next;
    this.#next = undefined;
    if (next === undefined) return;
    const left = changesAt - this.#parts.clock.now();
    // What should be there already and was not is in somebody else's hands.
    if (left > 0) next.within(left);
    const giveUp = () => next.cancel();
    this.#signal?.addEventListener('abort', giveUp, { once: true });
    await next.done;
    this.#signal?.removeEventListener('abort', giveUp);
  }

  end(): void {
    this.#next?.cancel();
    this.#woken?.cancel();
  }
}

/** Whether whoever receives still wants messages. */
export function isWanted({ signal, isWanted }: ReceiveOptions): boolean {
  return signal?.aborted !== true && isWanted?.() !== false;
}
