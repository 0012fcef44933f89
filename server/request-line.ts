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
   * closed now because more requests wait on it than there is room for.
   */
  async turn({ socket }: IncomingMessage, answer: ServerResponse): Promise<boolean> {
    const line = this.#lines.get(socket) ?? new RequestLine(this.#memory, socket);
    this.#lines.set(socket, line);
    return await line.turn(answer);
  }

  /** The client has proved a right: its answers count among those of clients that have. */
  proved({ socket }: IncomingMessage): void {
    this.#lines.get(socket)?.proved();
  }

  /**
   * Counts what the client has not taken yet of an answer that was written. Where it has proved no right,
   * and there is no room, its connection is closed.
   */
  written({ socket }: IncomingMessage, answer: ServerResponse): void {
    this.#lines.get(socket)?.written(answer);
  }
}

class RequestLine {
  readonly #socket: Duplex;
  /** Of requests that wait; nobody has looked at them yet. */
  readonly #requests: MemoryShare;
  /** Of an answer that is not taken. */
  readonly #answer: MemoryShare;
  #isProved = false;
  /** Those that wait for their turn, in order. */
  readonly #waiting: ((isTurn: boolean) => void)[] = [];
  #isBusy = false;

  constructor(memory: MemoryBudget, socket: Duplex) {
    this.#socket = socket;
    const evict = () => socket.destroy();
    this.#requests = memory.openBeforeRight(WAITING_MAX * REQUEST_BYTES, evict);
    this.#answer = memory.openBeforeRight(Number.POSITIVE_INFINITY, evict);
    socket.once('close', () => this.#end());
  }

  async turn(answer: ServerResponse): Promise<boolean> {
    if (this.#isBusy && !(await this.#wait())) return false;
    this.#isBusy = true;
    answer.once('close', () => this.#answered());
    return true;
  }

  proved(): void {
    if (this.#isProved) return;
    this.#isProved = true;
    this.#answer.prove(Number.POSITIVE_INFINITY);
  }

  /**
   * An answer to somebody with a right goes out however little room there is: what it tells is done. Others
   * may need its room later. For strangers nothing was done.
   */
  written(answer: ServerResponse): void {
    const bytes = answer.writableLength;
    if (bytes === 0 || answer.closed) return;
    if (this.#isProved) this.#answer.holdAnyway(bytes);
    else if (!this.#answer.hold(bytes)) this.#socket.destroy();
  }

  async #wait(): Promise<boolean> {
    if (!this.#requests.hold(REQUEST_BYTES)) {
      this.#socket.destroy();
      return false;
    }
    return await new Promise((resolve) => this.#waiting.push(resolve));
  }

  #answered(): void {
    this.#answer.release(this.#answer.held);
    const next = this.#waiting.shift();
    this.#isBusy = next !== undefined;
    if (next === undefined) return;
    this.#requests.release(REQUEST_BYTES);
    // Its answer is closed before the socket is.
    next(!this.#socket.destroyed);
  }

  #end(): void {
    for (const share of [this.#requests, this.#answer]) share.close();
    for (const next of this.#waiting.splice(0)) next(false);
  }
}
