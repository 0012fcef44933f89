import type { Log } from '../../domain/blocks/log.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { ReceiveOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { WakeUp } from '../ports/wake-ups.ts';

/**
 * The long poll of one receive: it waits between looks until its time is over or the caller aborts. Always call
 * `end`, because it wakes the next waiting receive.
 */
export class ReceiveWait {
  readonly #dependencies: Pick<BrokerDependencies, 'wakeUps' | 'clock' | 'monotonicNow'>;
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  /** The ended wait whose wake-up this receive took. It must be used up (`foundNothing`) or passed on (`cancel`). */
  #woken: WakeUp | undefined;
  /** The wait that `listen` began, for after the next look. */
  #next: WakeUp | undefined;

  constructor(
    dependencies: Pick<BrokerDependencies, 'wakeUps' | 'clock' | 'monotonicNow'>,
    waitMs: number,
    signal: AbortSignal | undefined,
  ) {
    this.#dependencies = dependencies;
    this.#deadline = dependencies.monotonicNow() + waitMs;
    this.#signal = signal;
  }

  /** Whether the caller has aborted the receive. */
  get isAborted(): boolean {
    return this.#signal?.aborted === true;
  }

  /**
   * Starts to listen. Call it before each look, so that no message is missed in between. False = the time is over,
   * so the next look is the last.
   */
  listen(logs: readonly Log[]): boolean {
    const { wakeUps, monotonicNow } = this.#dependencies;
    const left = wakeUps.isClosing ? 0 : this.#deadline - monotonicNow();
    this.#next = left > 0 ? wakeUps.wait(logs, left) : undefined;
    return this.#next !== undefined;
  }

  /**
   * Waits after an empty look. `changes` = when locks end or scheduled messages come due, epoch ms; `emptyAt` as for
   * `WakeUp.within`.
   */
  async pause(changes: readonly number[] = [], emptyAt?: number): Promise<void> {
    // `end` then wakes the next receive, which may get the messages.
    if (this.isAborted) return;
    const next = this.#next;
    this.#woken?.foundNothing();
    this.#woken = next;
    this.#next = undefined;
    if (next === undefined) return;
    const now = this.#dependencies.clock.now();
    // Where an instant has passed, the look found nothing, so another receiver has the message.
    next.within(Math.min(...changes.filter((instant) => instant > now)) - now, emptyAt);
    const abort = () => next.cancel();
    this.#signal?.addEventListener('abort', abort, { once: true });
    await next.done;
    this.#signal?.removeEventListener('abort', abort);
  }

  /** Stops listening, and wakes the next receive if this one was woken. */
  end(): void {
    this.#next?.cancel();
    this.#woken?.cancel();
  }
}

/** The part of a claim that the options of its receive decide. */
export function claimOptions(options: ReceiveOptions) {
  const { mode, maxMessages, answer, payloads, waitForTurn, signal } = options;
  const isWanted = () => signal?.aborted !== true && options.isWanted?.() !== false;
  return {
    mode,
    maxMessages,
    maxBytes: LIMITS.receiveBytes,
    answer,
    payloads,
    waitForTurn,
    isWanted,
  };
}
