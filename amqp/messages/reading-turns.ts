import { BUDGETS } from '../../shared/domain/budgets.ts';
import type { WorkTurns } from '../../shared/domain/work-turns.ts';

const { turnBytes: TURN_BYTES } = BUDGETS.delivery;

/** Lets others have their turn while what one connection sends is read, whatever the links that it sends on. */
export class ReadingTurns {
  readonly #turns: Pick<WorkTurns, 'next'>;
  readonly #bytesMax: number;
  /** What was read since the last turn began, and what waits for one. */
  #bytes = 0;

  /** What is no more than `bytesMax` is read without a turn. */
  constructor(turns: Pick<WorkTurns, 'next'>, bytesMax: number = TURN_BYTES) {
    this.#turns = turns;
    this.#bytesMax = bytesMax;
  }

  /** To be called before so many bytes of `peer` are read: resolves when they may be; undefined = at once. */
  before(bytes: number, peer: object): Promise<void> | undefined {
    this.#bytes += bytes;
    // What is small takes no time worth waiting for.
    return this.#bytes <= this.#bytesMax ? undefined : this.#wait(bytes, peer);
  }

  async #wait(bytes: number, peer: object): Promise<void> {
    await this.#turns.next(peer);
    this.#bytes = bytes;
  }
}
