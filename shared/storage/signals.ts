import type { Arrival, Arrivals } from '../broker/ports.ts';
import type { Log } from '../domain/log.ts';
import { logName } from './keys.ts';

/**
 * Wakes receivers of this process when something comes into the log they wait on. What other
 * processes send, and locks that run out, nobody tells: so a wait ends after `pollMs` at the latest
 * and the receiver looks again.
 */
export class Signals implements Arrivals {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #pollMs: number;
  #isClosing = false;

  constructor(pollMs: number) {
    this.#pollMs = pollMs;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Lets all who wait go, now and from now on. */
  close(): void {
    this.#isClosing = true;
    this.signalAll();
  }

  /** Something may have come into the log with this key. */
  signal(log: string): void {
    const waiting = this.#waiting.get(log);
    if (waiting === undefined) return;
    for (const wake of [...waiting]) wake();
  }

  /** Anything may have changed: the clock was moved. */
  signalAll(): void {
    for (const log of [...this.#waiting.keys()]) this.signal(log);
  }

  wait(logs: readonly Log[], ms: number): Arrival {
    const keys = logs.map(logName);
    let wake = () => {};
    const done = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const stop = () => {
      clearTimeout(timer);
      for (const key of keys) this.#remove(key, end);
    };
    const end = () => {
      stop();
      wake();
    };
    const timer = setTimeout(end, Math.min(ms, this.#pollMs));
    for (const key of keys) this.#add(key, end);
    return { done, cancel: end };
  }

  #add(key: string, end: () => void): void {
    const waiting = this.#waiting.get(key) ?? new Set();
    waiting.add(end);
    this.#waiting.set(key, waiting);
  }

  #remove(key: string, end: () => void): void {
    const waiting = this.#waiting.get(key);
    waiting?.delete(end);
    if (waiting?.size === 0) this.#waiting.delete(key);
  }
}
