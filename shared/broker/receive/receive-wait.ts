import type { Log } from '../../domain/blocks/log.ts';
import { isBusy } from '../../domain/broker-error.ts';
import { LIMITS } from '../../domain/limits.ts';
import { resultOf } from '../../domain/result-of.ts';
import type { ReceiveOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { WakeUp } from '../ports/wake-ups.ts';

/** How long a wait pauses when the service is busy; twice as long each time. */
const BUSY_PAUSE_MS = { first: 100, most: 2000 };

/** What one look brings: what it found and ends the wait with, or what to wait for, as `ReceiveWait.pause` takes it. */
export type Looked<Found> =
  | { readonly isOver: true; readonly found: Found }
  | { readonly isOver: false; readonly changes?: readonly number[]; readonly emptyAt?: number };

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
  /** The logs of the last look that listened. */
  #logs: readonly Log[] | undefined;
  #busyMs: number = BUSY_PAUSE_MS.first;
  #pauses = 0;

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
    this.#logs = logs;
    const left = wakeUps.isClosing ? 0 : this.#deadline - monotonicNow();
    this.#next = left > 0 ? wakeUps.wait(logs, left) : undefined;
    return this.#next !== undefined;
  }

  /**
   * Waits after an empty look. `changes` = when locks end or scheduled messages come due, epoch ms; `emptyAt` as for
   * `WakeUp.within`.
   */
  async pause(changes: readonly number[] = [], emptyAt?: number): Promise<void> {
    this.#busyMs = BUSY_PAUSE_MS.first;
    await this.#pause(changes, emptyAt);
  }

  /**
   * Looks until a look is over, also after looks for which the service is busy, and pauses in between. Calls `onWait`
   * before each pause. Undefined = the caller has aborted.
   */
  async untilOver<Found>(
    look: () => Promise<Looked<Found>>,
    onWait: () => void = () => {},
  ): Promise<Found | undefined> {
    for (; !this.isAborted; this.#pauses++) {
      const looked = await resultOf(look());
      if ('error' in looked) {
        this.#listenAfter(looked.error);
        onWait();
        await this.#pauseBusy();
        continue;
      }
      const { value } = looked;
      if (value.isOver) return value.found;
      onWait();
      await this.pause(value.changes, value.emptyAt);
    }
    return undefined;
  }

  /** Whether it has looked before, and paused then. */
  get hasPaused(): boolean {
    return this.#pauses > 0;
  }

  /**
   * Listens after a look that failed because the service is busy, so that another look follows. Throws any other error,
   * and that of the last look, or of a first one that did not come to listen.
   */
  #listenAfter(error: unknown): void {
    if (!isBusy(error)) throw error;
    const hasListened = this.#next !== undefined;
    if (!hasListened && (this.#logs === undefined || !this.listen(this.#logs))) throw error;
  }

  async #pauseBusy(): Promise<void> {
    const busyMs = this.#busyMs;
    this.#busyMs = Math.min(BUSY_PAUSE_MS.most, 2 * busyMs);
    await this.#pause([this.#dependencies.clock.now() + busyMs]);
  }

  async #pause(changes: readonly number[], emptyAt?: number): Promise<void> {
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
