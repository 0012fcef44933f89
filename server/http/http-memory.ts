import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { MemoryBudget, MemoryShare } from '../../shared/domain/budgets/memory-budget.ts';

const { headerFieldBytes: FIELD_BYTES } = BUDGETS.weights;

/**
 * Counts the memory of HTTP connections: input that waits to be parsed, the header fields of the current request, and
 * the part of its answer that the client has not read. If there is no room, the connection of an unauthorized client is
 * closed.
 */
export class HttpMemory {
  readonly #memory: MemoryBudget;
  readonly #shares = new WeakMap<Duplex, ConnectionShares>();

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /** Sets how many bytes of a connection wait to be parsed. */
  waiting(socket: Duplex, bytes: number): void {
    // Most connections never have waiting input.
    if (bytes === 0 && !this.#shares.has(socket)) return;
    this.#of(socket).waiting(bytes);
  }

  /** Counts a request that begins. */
  begun({ socket, rawHeaders }: IncomingMessage, answer: ServerResponse): void {
    this.#of(socket).begun((rawHeaders.length / 2) * FIELD_BYTES, answer);
  }

  /** Notes that the client is authorized: its memory then counts among that of authorized clients. */
  authorized({ socket }: IncomingMessage): void {
    this.#shares.get(socket)?.authorized();
  }

  /** Counts the part of a written answer that the client has not read yet. */
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
  /** For input that waits to be parsed. */
  readonly #input: MemoryShare;
  /** For the request and the unread part of its answer. */
  readonly #request: MemoryShare;
  #isAuthorized = false;

  constructor(memory: MemoryBudget, socket: Duplex) {
    this.#socket = socket;
    const evict = () => socket.destroy();
    this.#input = memory.openUnauthorized(Number.POSITIVE_INFINITY, evict);
    this.#request = memory.openUnauthorized(Number.POSITIVE_INFINITY, evict);
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

  authorized(): void {
    if (this.#isAuthorized) return;
    this.#isAuthorized = true;
    for (const share of [this.#input, this.#request]) share.authorize(Number.POSITIVE_INFINITY);
  }

  written(answer: ServerResponse): void {
    const bytes = answer.writableLength;
    if (bytes > 0 && !answer.closed) this.#hold(this.#request, bytes);
  }

  /**
   * The answer to a client with a right is sent however little room there is, because the work that it reports is done.
   * A client without a right has had no work done, so its connection is closed.
   */
  #hold(share: MemoryShare, bytes: number): void {
    if (this.#isAuthorized) share.holdAnyway(bytes);
    else if (!share.hold(bytes)) this.#socket.destroy();
  }

  #end(): void {
    for (const share of [this.#input, this.#request]) share.close();
  }
}
