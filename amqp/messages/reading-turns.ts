import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { LoopTurns } from '../../shared/domain/turns/loop-turns.ts';
import type { WorkTurns } from '../../shared/domain/turns/work-turns.ts';

const { turnBytes: TURN_BYTES } = BUDGETS.delivery;
const { turnMessageBytes: MESSAGE_BYTES } = BUDGETS.connection;

/** The turns that authorized connections share. */
export interface TurnsBySize {
  /** For large input: each waits until all others have had their turn. */
  readonly large: Pick<WorkTurns, 'next'>;
  /** For small input, which does not wait for large input: a bounded number of bytes in each turn. */
  readonly small: Pick<LoopTurns, 'next'>;
}

/** Divides the time to decode input among connections, however many links each of them has. */
export class ReadingTurns {
  readonly #turns: TurnsBySize;
  readonly #smallBytes: number;

  /** Input of more than `smallBytes` is large. */
  constructor(turns: TurnsBySize, smallBytes: number = TURN_BYTES) {
    this.#turns = turns;
    this.#smallBytes = smallBytes;
  }

  /**
   * Resolves when `bytes` of `peer`, an object that stands for the connection, may be decoded or stored.
   * `longest` = the bytes of the largest delivery among them.
   */
  before(bytes: number, peer: object, longest: number = bytes): Promise<void> {
    const { small, large } = this.#turns;
    return longest > this.#smallBytes ? large.next(peer) : small.next(peer, MESSAGE_BYTES + bytes);
  }
}
