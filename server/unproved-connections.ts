import type { Duplex } from 'node:stream';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { LoopTurns } from '../shared/domain/turns/loop-turns.ts';
import { TurnTime } from '../shared/domain/turns/turn-time.ts';

const CONNECTIONS_MAX = BUDGETS.process.otherConnectionsBeforeRight;
const { turnPieces, turnPiecesMs, turnPiecesBeforeRight, turnPiecesBeforeRightMs } = BUDGETS;

/**
 * The connections that have proved no right over HTTP, or have not shown what they speak. With more than
 * there may be, the oldest is closed: each keeps memory of the socket and of TLS.
 */
export class UnprovedConnections {
  /** In the order in which they came. */
  readonly #sockets = new Set<Duplex>();
  readonly #strangers: LoopTurns;
  readonly #others: LoopTurns;

  /** `now` = a monotonic clock, ms. */
  constructor(now: () => number = () => performance.now()) {
    const scheduler = { soon: setImmediate };
    const time = new TurnTime(now, turnPiecesMs);
    const timeBeforeRight = new TurnTime(now, turnPiecesBeforeRightMs);
    this.#strangers = new LoopTurns(scheduler, turnPiecesBeforeRight, timeBeforeRight);
    this.#others = new LoopTurns(scheduler, turnPieces, time);
  }

  add(socket: Duplex): void {
    // Nobody would hear of its end any more.
    if (socket.closed) return;
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#strangers.forget(socket);
    });
    const [oldest] = this.#sockets;
    if (this.#sockets.size > CONNECTIONS_MAX) oldest?.destroy();
  }

  /**
   * Calls `parse` when a piece of what a connection sends over HTTP may be parsed, in which a request may
   * begin: now, or in a later turn of the event loop. In each that is a few pieces of connections that have
   * proved no right, and more of those that have, or that are our own, and no more of either once a short
   * time is used up: some are parsed slowly. Each connection waits in line once, so that however many they
   * are, others are served in between.
   */
  turn(socket: Duplex, parse: () => void, isOwn = false): void {
    (this.#sockets.has(socket) && !isOwn ? this.#strangers : this.#others).begin(socket, parse);
  }

  /** It has proved a right, or is counted elsewhere from now on. */
  delete(socket: Duplex): void {
    this.#sockets.delete(socket);
  }
}
