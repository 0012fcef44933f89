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
  readonly #turns = new LoopTurns({ soon: setImmediate }, BUDGETS.turnRequestsBeforeRight);

  add(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const [oldest] = this.#sockets;
    if (this.#sockets.size > CONNECTIONS_MAX) oldest?.destroy();
  }

  /**
   * Resolves when a request on a connection may begin: at once where that has proved a right. Of the others
   * a few begin in each turn of the event loop, in order, so that however many they are, clients with a right
   * are served in between. False where the connection was closed before.
   */
  async turn(socket: Duplex): Promise<boolean> {
    if (!this.#sockets.has(socket)) return true;
    await this.#turns.next();
    return !socket.destroyed;
  }

  /** It has proved a right, or is counted elsewhere from now on. */
  delete(socket: Duplex): void {
    this.#sockets.delete(socket);
  }
}
