import { BoundedMap } from '../../domain/bounded-map.ts';

const BLOCKS_MAX = 20_000;

/**
 * The blocks that this process has stored lately. It has woken its receives for them, so it need not do so again when
 * the stream tells of them. One that is forgotten costs a look in vain.
 */
export class OwnBlocks {
  readonly #blocks = new BoundedMap<string, true>(BLOCKS_MAX);

  /** Notes a block by the name of its log and its sort key within it. */
  note(log: string, sortKey: string): void {
    this.#blocks.set(`${log}\n${sortKey}`, true);
  }

  /** Whether this process stored the block. */
  has(log: string, sortKey: string): boolean {
    return this.#blocks.get(`${log}\n${sortKey}`) === true;
  }
}
