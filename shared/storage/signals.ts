import type { Arrival, Arrivals, Turn } from '../broker/ports.ts';
import type { Log } from '../domain/log.ts';
import { logName } from './keys.ts';

/**
 * Wakes receivers of this process when something comes into the log they wait on. What other
 * processes send, and locks that run out, nobody tells: so one who waits is sent to look again after
 * `pollMs` at the latest.
 */
export class Signals implements Arrivals {
  readonly #waiting = new Map<string, Waiting>();
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
    for (const wake of [...waiting.each]) wake();
    first(waiting.inTurn)?.();
  }

  /** Anything may have changed: the clock was moved. */
  signalAll(): void {
    for (const { each, inTurn } of [...this.#waiting.values()]) {
      for (const wake of [...each, ...inTurn]) wake();
    }
  }

  wait(logs: readonly Log[], ms: number, turn: Turn): Arrival {
    const keys = logs.map(logName);
    let isWoken = false;
    let resolve = () => {};
    const done = new Promise<void>((resolved) => {
      resolve = resolved;
    });
    const stop = () => {
      clearTimeout(timer);
      for (const key of keys) this.#remove(key, turn, wake);
      resolve();
    };
    const wake = () => {
      isWoken = true;
      stop();
    };
    // Those who take turns are sent to look by one clock for all of them.
    const timer = setTimeout(stop, turn === 'each' ? Math.min(ms, this.#pollMs) : ms);
    for (const key of keys) this.#add(key, turn, wake);
    if (turn === 'inTurn') this.#poll(keys[0]);
    const passOn = () => {
      for (const key of keys) first(this.#waiting.get(key)?.inTurn)?.();
    };
    return {
      done,
      passOn: () => {
        stop();
        passOn();
      },
      cancel: () => {
        stop();
        // Who was sent to look and does not go must not have been the only one.
        if (isWoken && turn === 'inTurn') passOn();
      },
    };
  }

  #add(key: string, turn: Turn, wake: () => void): void {
    const waiting = this.#waiting.get(key) ?? { each: new Set(), inTurn: new Set() };
    this.#waiting.set(key, waiting);
    waiting[turn].add(wake);
  }

  #poll(key = ''): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return;
    waiting.poll ??= setInterval(() => first(waiting.inTurn)?.(), this.#pollMs);
  }

  #remove(key: string, turn: Turn, wake: () => void): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return;
    waiting[turn].delete(wake);
    if (waiting.inTurn.size > 0) return;
    clearInterval(waiting.poll);
    delete waiting.poll;
    if (waiting.each.size === 0) this.#waiting.delete(key);
  }
}

/** Who waits on one log. */
interface Waiting {
  readonly each: Set<() => void>;
  /** Who waits longest stands first. */
  readonly inTurn: Set<() => void>;
  poll?: NodeJS.Timeout;
}

function first<T>(set: ReadonlySet<T> | undefined): T | undefined {
  return set?.values().next().value;
}
