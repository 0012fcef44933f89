import type { Duplex } from 'node:stream';
import { BUDGETS } from '../shared/domain/budgets.ts';
import { LoopTurns } from '../shared/domain/loop-turns.ts';

const CONNECTIONS_MAX = BUDGETS.process.otherConnectionsBeforeRight;

/**
 * The connections that have proved no right over HTTP, or have not shown what they speak. With more than
 * there may be, the oldest is closed: each keeps memory of the socket and of TLS.
 */
export class UnprovedConnections {
  /** In the order in which they came. */
  readonly #sockets = new Set<Duplex>();
  readonly #strangers = new LoopTurns({ soon: setImmediate }, BUDGETS.turnPiecesBeforeRight);
  readonly #others = new LoopTurns({ soon: setImmediate }, BUDGETS.turnPieces);

  add(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const [oldest] = this.#sockets;
    if (this.#sockets.size > CONNECTIONS_MAX) oldest?.destroy();
  }

  /**
   * Resolves when a piece of what a connection sends over HTTP may be parsed, in which a request may begin.
   * In each turn of the event loop that is a few pieces of connections that have proved no right, and more of
   * those that have, or that are our own: each connection waits in line once, so that however many they are,
   * others are served in between. False where the connection was closed before.
   */
  async turn(socket: Duplex, isOwn = false): Promise<boolean> {
    await (this.#sockets.has(socket) && !isOwn ? this.#strangers : this.#others).next();
    return !socket.destroyed;
  }

  /** It has proved a right, or is counted elsewhere from now on. */
  delete(socket: Duplex): void {
    this.#sockets.delete(socket);
  }
}
