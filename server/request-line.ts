import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { BUDGETS } from '../shared/domain/budgets.ts';
import type { MemoryBudget, MemoryShare } from '../shared/domain/memory-budget.ts';

const { pipelined: WAITING_MAX } = BUDGETS.request;
const { requestBytes: REQUEST_BYTES } = BUDGETS.weights;

/**
 * Has the requests of each connection handled one after the other, in the order in which they are
 * answered anyway. node:http begins every request as soon as it is read, so that one connection could
 * have any number of them under way. Counts the memory of requests, and of answers that are not taken.
 */
export class RequestLines {
  readonly #memory: MemoryBudget;
  readonly #lines = new WeakMap<Duplex, RequestLine>();

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /**
   * Resolves when all requests before this one are answered. False where the connection is gone, or is
   * closed now because more requests wait on it, or more bytes, than there is room for.
   */
  async turn({ socket }: IncomingMessage, answer: ServerResponse): Promise<boolean> {
    const line = this.#lines.get(socket) ?? new RequestLine(this.#memory, socket);
    this.#lines.set(socket, line);
    return await line.turn(answer);
  }

  /** Counts what the client has not taken yet of an answer that was written. */
  written({ socket }: IncomingMessage, answer: ServerResponse): void {
    this.#lines.get(socket)?.written(answer);
  }
}

class RequestLine {
  readonly #share: MemoryShare;
  readonly #socket: Duplex;
  /** Those that wait for their turn, in order. */
  #waiting: ((isTurn: boolean) => void)[] = [];
  #isBusy = false;

  constructor(memory: MemoryBudget, socket: Duplex) {
    this.#socket = socket;
    this.#share = memory.open(memory.limit, () => socket.destroy());
    socket.once('close', () => this.#end());
  }

  async turn(answer: ServerResponse): Promise<boolean> {
    if (this.#waiting.length >= WAITING_MAX || !this.#share.hold(REQUEST_BYTES)) {
      this.#socket.destroy();
      return false;
    }
    answer.once('close', () => this.#answered());
    if (this.#isBusy) return await new Promise((resolve) => this.#waiting.push(resolve));
    this.#isBusy = true;
    return true;
  }

  written(answer: ServerResponse): void {
    const bytes = answer.writableLength;
    if (bytes === 0 || answer.closed) return;
    if (this.#share.hold(bytes)) answer.once('close', () => this.#share.release(bytes));
    else this.#socket.destroy();
  }

  #answered(): void {
    // Its answer is closed before the socket is.
    if (this.#socket.destroyed) return;
    this.#share.release(REQUEST_BYTES);
    const next = this.#waiting.shift();
    this.#isBusy = next !== undefined;
    next?.(true);
  }

  #end(): void {
    this.#share.close();
    for (const next of this.#waiting.splice(0)) next(false);
  }
}
