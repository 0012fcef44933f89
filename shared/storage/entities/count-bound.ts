/** How much the count of a log reads. */
export interface CountBound {
  /** Items of the first page. Most logs have no more. */
  readonly firstItems: number;
  /** A log with about this many messages is counted one by one. */
  readonly exactMessages: number;
  /** Pages after the first, of 1 MB at most. */
  readonly exactPages: number;
  /** The parts of a range that are looked into for an estimate, and the items read of each. */
  readonly samples: number;
  readonly sampleItems: number;
  /** What the counts of one report may read. */
  readonly budget: CountBudget;
}

/**
 * The bound for the log of an entity with one partition. Counting 250 blocks takes up to 30 read units, an estimate 20
 * to 100 more, and counting up to 10,000 messages one by one, if each is a block, up to 500 more.
 */
const WHOLE: Omit<CountBound, 'budget'> = {
  firstItems: 250,
  exactMessages: 10_000,
  exactPages: 4,
  samples: 16,
  sampleItems: 6,
};
const FIRST_ITEMS_MIN = 25;

/** The bound where the counts of `count` logs share the cost of one. */
export function sharedBound(count: number, budget: CountBudget): CountBound {
  return {
    ...WHOLE,
    firstItems: Math.max(FIRST_ITEMS_MIN, Math.ceil(WHOLE.firstItems / count)),
    exactMessages: Math.ceil(WHOLE.exactMessages / count),
    exactPages: Math.ceil(WHOLE.exactPages / count),
    samples: Math.ceil(WHOLE.samples / count),
    budget,
  };
}

/** Messages that one report counts one by one beyond the first pages: as many as three sub-queues may have. */
const REPORT_MESSAGES_MAX = 45_000;

/** Items that one report reads in first pages; then these are small. 100 queues with long sub-queues have 75,000. */
const REPORT_FIRST_ITEMS_MAX = 100_000;

/**
 * What the counts of one report may still read. The smallest function takes 0.1 s for a thousand messages that were
 * sent one by one, and a page of a list has some hundred entities.
 */
export class CountBudget {
  #left = REPORT_MESSAGES_MAX;
  #firstItemsLeft: number;

  /** `firstItems` = what first pages may read together. */
  constructor(firstItems = REPORT_FIRST_ITEMS_MAX) {
    this.#firstItemsLeft = firstItems;
  }

  /** The items of a first page that wants `items`. */
  firstPage(items: number): number {
    return this.#firstItemsLeft > 0 ? items : Math.min(items, FIRST_ITEMS_MIN);
  }

  /** Notes what a first page has read. */
  noteFirstPage(items: number): void {
    this.#firstItemsLeft -= items;
  }

  /** Takes messages beyond the first pages; false = it has not as many left, and nothing is taken. */
  take(messages: number): boolean {
    if (messages > this.#left) return false;
    this.#left -= messages;
    return true;
  }
}
