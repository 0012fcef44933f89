import type { Duplex } from 'node:stream';
import { BUDGETS } from '../shared/domain/budgets.ts';

const CONNECTIONS_MAX = BUDGETS.process.otherConnectionsBeforeRight;

/**
 * The connections that have proved no right over HTTP, or have not shown what they speak. With more than
 * there may be, the oldest is closed: each keeps memory of the socket and of TLS.
 */
export class UnprovedConnections {
  /** In the order in which they came. */
  readonly #sockets = new Set<Duplex>();

  add(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const [oldest] = this.#sockets;
    if (this.#sockets.size > CONNECTIONS_MAX) oldest?.destroy();
  }

  /** It has proved a right, or is counted elsewhere from now on. */
  delete(socket: Duplex): void {
    this.#sockets.delete(socket);
  }
}
