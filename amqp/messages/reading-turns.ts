import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { LoopTurns } from '../../shared/domain/turns/loop-turns.ts';
import type { WorkTurns } from '../../shared/domain/turns/work-turns.ts';

const { turnBytes: TURN_BYTES } = BUDGETS.delivery;
const { turnMessageBytes: MESSAGE_BYTES } = BUDGETS.connection;

/** What connections that have proved a right share, so that each has its turn. */
export interface SharedTurns {
  /** For what is large: each waits for the moments of all others. */
  readonly large: Pick<WorkTurns, 'next'>;
  /** For what is small, which waits for nothing that is large: so many bytes are read in each turn. */
  readonly small: Pick<LoopTurns, 'next'>;
}

/** Lets others have their turn while what connections send is read, whatever the links that they send on. */
export class ReadingTurns {
  readonly #turns: SharedTurns;
  readonly #smallBytes: number;

  /** What is longer than `smallBytes` is large. */
  constructor(turns: SharedTurns, smallBytes: number = TURN_BYTES) {
    this.#turns = turns;
    this.#smallBytes = smallBytes;
  }

  /**
   * To be called before so many bytes of `peer` are read, or stored: resolves when they may be. `longest` =
   * the bytes of the largest among them.
   */
  before(bytes: number, peer: object, longest: number = bytes): Promise<void> {
    const { small, large } = this.#turns;
    return longest > this.#smallBytes ? large.next(peer) : small.next(peer, MESSAGE_BYTES + bytes);
  }
}
