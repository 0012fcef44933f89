import type { FilterCounts } from '../../broker/ports/management.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import { rulesOf } from '../schema/entity-keys.ts';

/** Rules that one report reads to count filters: some 300 read units if they are small. */
const RULES_MAX = 20_000;

/** Counts the filters of topics for one report. */
export class FilterCounter {
  readonly #table: DocumentTable;
  readonly #namespace: string;
  #left = RULES_MAX;

  constructor(table: DocumentTable, namespace: string) {
    this.#table = table;
    this.#namespace = namespace;
  }

  /**
   * The filters in the rules of `subscriptions`, which are those of the topic; the sweep has not yet removed the rules
   * of others. Undefined = this report has read as many rules as it may.
   */
  async of(topic: Entity, subscriptions: readonly Entity[]): Promise<FilterCounts | undefined> {
    const live = new Set(subscriptions.map(({ id }) => id));
    const counts = { sql: 0, correlation: 0 };
    if (live.size === 0) return counts;
    if (this.#left <= 0) return undefined;
    for await (const { sk, kind } of this.#table.allStale(rulesOf(this.#namespace, topic.id))) {
      if (this.#left-- <= 0) return undefined;
      if (!live.has(String(sk).split('/', 1)[0] ?? '')) continue;
      counts[kind === 'correlation' ? 'correlation' : 'sql']++;
    }
    return counts;
  }
}
