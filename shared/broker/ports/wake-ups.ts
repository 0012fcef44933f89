import type { Log } from '../../domain/blocks/log.ts';

/** Lets a receive wait for messages without asking the database all the time. */
export interface WakeUps {
  /** Whether the process is about to end, so that every wait ends at once. */
  readonly isClosing: boolean;
  /** Starts to listen to logs for `ms`. Call it before each look, so that no message is missed in between. */
  wait(logs: readonly Log[], ms: number): WakeUp;
}

/**
 * One wait. Of all receives that wait on the same logs only one is woken; the next one is woken when that one got a
 * message or stopped waiting.
 */
export interface WakeUp {
  /** Resolves when it is time to look, or when the wait has ended. */
  readonly done: Promise<void>;
  /**
   * Ends this wait, or that of another receive on the same logs, after `ms`, unless one ends earlier anyway.
   * `emptyAt` = when the look before this wait began, monotonic ms, if it saw no message at all; then the waits may
   * last longer.
   */
  within(ms: number, emptyAt?: number): void;
  /** Tells that the woken receive found no messages, so no other receive need be woken. */
  foundNothing(): void;
  /** Stops listening. If this wait was woken already, the next receive is woken instead. */
  cancel(): void;
}
