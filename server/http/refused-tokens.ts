import { setTimeout as pause } from 'node:timers/promises';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';

const { refusals: REFUSALS_MAX, refusalsAtOnce, refusalPauseMs } = BUDGETS.connection;

/** An answer of the HTTP server, before it goes out. */
interface Answer {
  readonly socket: object | null;
  setHeader(name: string, value: string): unknown;
}

/** Counts refused tokens per connection. A client that tries many is slowed, and then its connection is closed. */
export class RefusedTokens {
  readonly #counts = new WeakMap<object, number>();
  readonly #pauseMs: number;

  constructor(pauseMs: number = refusalPauseMs) {
    this.#pauseMs = pauseMs;
  }

  /** Counts an answer that refuses a token. Resolves when it may be sent; the last allowed one ends its connection. */
  async count(answer: Answer): Promise<void> {
    const { socket } = answer;
    if (socket === null) return;
    const count = (this.#counts.get(socket) ?? 0) + 1;
    this.#counts.set(socket, count);
    if (count >= REFUSALS_MAX) answer.setHeader('Connection', 'close');
    if (count > refusalsAtOnce) await pause(this.#pauseMs, undefined, { ref: false });
  }
}
