import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget, MemoryShare } from '../../shared/domain/budgets/memory-budget.ts';

const { headerFieldBytes: FIELD_BYTES } = BUDGETS.weights;

/**
 * Counts the memory of connections over HTTP: what came in and waits to be parsed, the fields of the request
 * under way, and the answer that is not taken. Of a client that has proved no right, the connection is
 * closed where there is no room.
 */
export class HttpMemory {
  readonly #memory: MemoryBudget;
  readonly #shares = new WeakMap<Duplex, ConnectionShares>();

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /** So many bytes of a connection wait now to be parsed. */
  waiting(socket: Duplex, bytes: number): void {
    // Most never wait.
    if (bytes === 0 && !this.#shares.has(socket)) return;
    this.#of(socket).waiting(bytes);
  }

  /** A request begins. */
  begun({ socket, rawHeaders }: IncomingMessage, answer: ServerResponse): void {
    this.#of(socket).begun((rawHeaders.length / 2) * FIELD_BYTES, answer);
  }

  /** The client has proved a right: what it holds counts among that of clients that have. */
  proved({ socket }: IncomingMessage): void {
    this.#shares.get(socket)?.proved();
  }

  /** Counts what the client has not taken yet of an answer that was written. */
  written({ socket }: IncomingMessage, answer: ServerResponse): void {
    this.#shares.get(socket)?.written(answer);
  }

  #of(socket: Duplex): ConnectionShares {
    const shares = this.#shares.get(socket) ?? new ConnectionShares(this.#memory, socket);
    this.#shares.set(socket, shares);
    return shares;
  }
}

class ConnectionShares {
  readonly #socket: Duplex;
  /** Of what waits to be parsed. */
  readonly #input: MemoryShare;
  /** Of a request, and of its answer that is not taken. */
  readonly #request: MemoryShare;
  #isProved = false;

  constructor(memory: MemoryBudget, socket: Duplex) {
    this.#socket = socket;
    const evict = () => socket.destroy();
    this.#input = memory.openBeforeRight(Number.POSITIVE_INFINITY, evict);
    this.#request = memory.openBeforeRight(Number.POSITIVE_INFINITY, evict);
    socket.once('close', () => this.#end());
  }

  waiting(bytes: number): void {
    const more = bytes - this.#input.held;
    if (more > 0) this.#hold(this.#input, more);
    else this.#input.release(-more);
  }

  begun(bytes: number, answer: ServerResponse): void {
    answer.once('close', () => this.#request.release(this.#request.held));
    this.#hold(this.#request, bytes);
  }

  proved(): void {
    if (this.#isProved) return;
    this.#isProved = true;
    for (const share of [this.#input, this.#request]) share.prove(Number.POSITIVE_INFINITY);
  }

  written(answer: ServerResponse): void {
    const bytes = answer.writableLength;
    if (bytes > 0 && !answer.closed) this.#hold(this.#request, bytes);
  }

  /**
   * An answer to somebody with a right goes out however little room there is: what it tells is done. Others
   * may need its room later. For strangers nothing was done.
   */
  #hold(share: MemoryShare, bytes: number): void {
    if (this.#isProved) share.holdAnyway(bytes);
    else if (!share.hold(bytes)) this.#socket.destroy();
  }

  #end(): void {
    for (const share of [this.#input, this.#request]) share.close();
  }
}
