import type { AgeClock, Instant } from '../../domain/age.ts';
import type { Block } from '../../domain/blocks/block.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import { blockSortKey } from '../schema/message-keys.ts';

/** How long the blocks of a scan are remembered, ms. */
const KEPT_MS = 250;
/** For how long after a lost race the log's scans are not remembered, ms: other processes receive from it, too. */
const CONTESTED_MS = 10_000;
const CONTESTED_LOGS_MAX = 10_000;
/** What a page may hold: blocks, and bytes of their messages, which stay in memory once they are decoded. */
const BLOCKS_MAX = 32;
const BYTES_MAX = 128 * 1024;
const LOGS_MAX = 64;

/** Blocks that follow each other in a log, from a sort key on. */
export interface Page {
  readonly from: string;
  readonly blocks: readonly Block[];
  /** When the read began. */
  readonly readAt: Instant;
}

/** A remembered page: its blocks by sort key, in order. */
interface Remembered extends Omit<Page, 'blocks'> {
  readonly blocks: Map<string, Block>;
  readonly last: string;
}

/**
 * The blocks that the last scan of a log read, with what this process has changed since. The next receive chooses
 * among their other messages without a read. It is only a hint: the condition of each claim decides, and what another
 * process puts back in front is noticed a quarter of a second late. It is not used for a while after another process
 * was faster, since several processes that remember the same messages would choose the same.
 */
export class PageMemory {
  readonly #pages = new BoundedMap<string, Remembered>(LOGS_MAX);
  /** When another process was last faster, by log. */
  readonly #contested = new BoundedMap<string, Instant>(CONTESTED_LOGS_MAX);
  readonly #ages: AgeClock;
  readonly #isOn: boolean;

  constructor(ages: AgeClock, isOn: boolean) {
    this.#ages = ages;
    this.#isOn = isOn;
  }

  /**
   * Keeps the first of the blocks that a scan read, as many as a page may hold. A block with changed properties, which
   * may change again in place, ends it.
   */
  keep(log: string, { from, blocks, readAt }: Page): void {
    const kept = new Map<string, Block>();
    let bytes = 0;
    for (const block of blocks) {
      bytes += block.payload.bytes;
      if (kept.size === BLOCKS_MAX || bytes > BYTES_MAX || !isPlain(block)) break;
      kept.set(sortKeyOf(block), block);
    }
    const last = [...kept.keys()].at(-1);
    if (this.#isOn && last !== undefined && !this.#isContested(log)) {
      this.#pages.set(log, { from, blocks: kept, last, readAt });
    } else this.drop(log);
  }

  /** The remembered blocks from a sort key on; undefined if they are not known. */
  find(log: string, from: string): Page | undefined {
    const page = this.#pages.get(log);
    if (page === undefined || from < page.from) return undefined;
    if (this.#ages.since(page.readAt) >= KEPT_MS) {
      this.drop(log);
      return undefined;
    }
    const blocks = [...page.blocks].flatMap(([key, block]) => (key < from ? [] : [block]));
    return { from, blocks, readAt: page.readAt };
  }

  drop(log: string): void {
    this.#pages.delete(log);
  }

  /** Notes that another process took a message of the log that this one had chosen. */
  noteLostRace(log: string): void {
    this.#contested.set(log, this.#ages.now());
    this.drop(log);
  }

  #isContested(log: string): boolean {
    const lostAt = this.#contested.get(log);
    return lostAt !== undefined && this.#ages.since(lostAt) < CONTESTED_MS;
  }

  /** Forgets the blocks of a log if one arrived among them. */
  dropAt(log: string, sortKey: string): void {
    const page = this.#pages.get(log);
    if (page !== undefined && sortKey <= page.last) this.drop(log);
  }

  /** Notes the slots that this process has locked, of a block as the claim left it. */
  noteLocked(
    log: string,
    { block: after, slots: locked }: { readonly block: Block; readonly slots: readonly number[] },
  ): void {
    const blocks = this.#pages.get(log)?.blocks;
    const key = sortKeyOf(after);
    const block = blocks?.get(key);
    if (block === undefined) return;
    const slots = new Map(block.slots);
    for (const number of locked) {
      const slot = after.slots.get(number);
      if (slot !== undefined && slots.has(number)) slots.set(number, slot);
    }
    blocks?.set(key, { ...block, slots });
  }

  /**
   * Notes which slots of a block are left after this process has removed messages of it. A block without any is deleted
   * by whoever emptied it.
   */
  noteLeft(log: string, changed: Block, hasSlot: (slot: number) => boolean): void {
    const blocks = this.#pages.get(log)?.blocks;
    const key = sortKeyOf(changed);
    const block = blocks?.get(key);
    if (blocks === undefined || block === undefined) return;
    const slots = new Map([...block.slots].filter(([slot]) => hasSlot(slot)));
    if (slots.size > 0) blocks.set(key, { ...block, slots });
    else blocks.delete(key);
  }
}

function sortKeyOf({ section, sequence }: Block): string {
  return blockSortKey(section, sequence);
}

function isPlain({ payload }: Block): boolean {
  return payload.overlay === undefined;
}
