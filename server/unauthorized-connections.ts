import type { Duplex } from 'node:stream';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { LoopTurns } from '../shared/domain/turns/loop-turns.ts';
import { TurnTime } from '../shared/domain/turns/turn-time.ts';

const CONNECTIONS_MAX = BUDGETS.process.otherConnectionsUnauthorized;
const { turnPieces, turnPiecesMs, turnPiecesUnauthorized, turnPiecesUnauthorizedMs } = BUDGETS;

/**
 * The connections that are not authorized over HTTP, or whose protocol is not known yet. If there are too many, the
 * oldest is closed, since each uses memory for its socket and TLS. It also paces the HTTP input of all connections,
 * because it knows which of them are unauthorized.
 */
export class UnauthorizedConnections {
  /** In order of arrival. */
  readonly #sockets = new Set<Duplex>();
  readonly #unauthorizedTurns: LoopTurns;
  readonly #authorizedTurns: LoopTurns;

  /** `now` = a monotonic clock, ms. */
  constructor(now: () => number = () => performance.now()) {
    const scheduler = { soon: setImmediate };
    const time = new TurnTime(now, turnPiecesMs);
    const unauthorizedTime = new TurnTime(now, turnPiecesUnauthorizedMs);
    this.#unauthorizedTurns = new LoopTurns(scheduler, turnPiecesUnauthorized, unauthorizedTime);
    this.#authorizedTurns = new LoopTurns(scheduler, turnPieces, time);
  }

  add(socket: Duplex): void {
    // Its close event was emitted already.
    if (socket.closed) return;
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#unauthorizedTurns.forget(socket);
    });
    const [oldest] = this.#sockets;
    if (this.#sockets.size > CONNECTIONS_MAX) oldest?.destroy();
  }

  /**
   * Calls `parse` when the next piece of a connection's HTTP input may be parsed, now or in a later turn of the event
   * loop. Each turn parses a few pieces of unauthorized connections and more of authorized ones and health checks, and
   * stops when a short time is used up, because some pieces are slow to parse. Each connection waits in line once, so
   * many connections cannot keep others waiting.
   */
  pace(socket: Duplex, parse: () => void, isHealthCheck = false): void {
    (this.#sockets.has(socket) && !isHealthCheck
      ? this.#unauthorizedTurns
      : this.#authorizedTurns
    ).begin(socket, parse);
  }

  /** Removes a connection that is authorized or is counted elsewhere. */
  delete(socket: Duplex): void {
    this.#sockets.delete(socket);
  }
}
