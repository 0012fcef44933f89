import type { Entity } from '../../domain/entities/entity.ts';
import { LIMITS } from '../../domain/limits.ts';
import { present } from '../../domain/present.ts';
import type { Page } from '../ports/entities.ts';
import type { RuntimeCounts, StoredRule } from '../ports/management.ts';

/** An entity with its runtime counts and, of a subscription, its first rules. */
export interface EntityWithRules extends RuntimeCounts {
  readonly entity: Entity;
  readonly rules?: Page<StoredRule>;
}

/** What reads the parts of the list of all entities. */
export interface EverythingReads {
  /** Up to `top` entities after a key. */
  page(after: string | undefined, top: number): Promise<Page<Entity>>;
  /** Their counts, in the order given. */
  report(entities: readonly Entity[]): Promise<readonly EntityWithRules[]>;
  /** The first rules of subscriptions, by the ids of these. */
  rulesOf(subscriptions: readonly Entity[]): Promise<ReadonlyMap<string, Page<StoredRule>>>;
}

/** Entities of a part, and of a part that follows on entities in which nothing was ever stored. */
const PART = LIMITS.listPage;
const UNUSED_PART = 4 * PART;
/** The list ends after the part with which it has as many entities whose messages had to be counted. */
const USED_MAX = 50;

/**
 * Reads up to `top` entities after a key, part by part; `more` of a part = others follow. An entity in which nothing
 * was ever stored takes half a read unit, so one request lists a thousand of them. Each of the others takes queries, so
 * the list ends early where it has many, in time for a function.
 */
export async function* readEverything(
  { page, report, rulesOf }: EverythingReads,
  after: string | undefined,
  top: number,
): AsyncGenerator<Page<EntityWithRules>> {
  let used = 0;
  let last = after;
  for (let left = top; left > 0; ) {
    const isFirst = left === top;
    const size = Math.min(left, isFirst || used > 0 ? PART : UNUSED_PART);
    const { items, more } = await page(last, size);
    const subscriptions = items.filter(({ description }) => description.kind === 'subscription');
    const [reports, rules] = await Promise.all([report(items), rulesOf(subscriptions)]);
    yield {
      items: reports.map((one) => ({ ...one, ...present({ rules: rules.get(one.entity.id) }) })),
      more,
    };
    used += reports.filter(({ isUnused }) => isUnused !== true).length;
    if (!more || used >= USED_MAX) return;
    left -= items.length;
    last = items.at(-1)?.key;
  }
}
