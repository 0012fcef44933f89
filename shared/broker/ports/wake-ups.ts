import type { Log } from '../../domain/blocks/log.ts';

/** Lets a receive wait for messages without asking the database all the time. */
export interface Arrivals {
  /** Whether the process is about to end: who waits goes away with nothing. */
  readonly isClosing: boolean;
  /** Starts listening: to be called before looking, so that nothing slips through in between. */
  wait(logs: readonly Log[], ms: number): Arrival;
}

/**
 * Of those who wait on the same logs one is woken for all; the next one hears of it when that one
 * has got something, or is no longer there to look.
 */
export interface Arrival {
  /** Resolves when it is time to look, or the time is over. */
  readonly done: Promise<void>;
  /** Has it be time to look after so long, unless that would be sooner anyway. */
  within(ms: number): void;
  /** Whoever was woken has looked, and there was nothing for the others either. */
  lookedInVain(): void;
  /** Stops listening; where it was woken already, that is the next one's to look. */
  cancel(): void;
}
