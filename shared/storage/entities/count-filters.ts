import type { FilterCounts } from '../../broker/ports/management.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import { rulesOf } from '../schema/entity-keys.ts';
import { bytesOf } from './rule-store.ts';

/** Bytes of rules that one report reads to count filters: some 1,000 read units. */
const BYTES_MAX = 8_000_000;
/** What a rule counts at least, so that a report reads up to 20,000: some 300 read units if they are small. */
const RULE_BYTES_MIN = 400;

/** Counts the filters of topics for one report. */
export class FilterCounter {
  readonly #table: DocumentTable;
  readonly #namespace: string;
  #left = BYTES_MAX;

  constructor(table: DocumentTable, namespace: string) {
    this.#table = table;
    this.#namespace = namespace;
  }

  /**
   * The filters in the rules of `subscriptions`, which are those of the topic; the sweep has not yet removed the rules
   * of others. Undefined = this report has read as much of rules as it may (semantics G29).
   */
  async of(topic: Entity, subscriptions: readonly Entity[]): Promise<FilterCounts | undefined> {
    const live = new Set(subscriptions.map(({ id }) => id));
    const counts = { sql: 0, correlation: 0 };
    if (live.size === 0) return counts;
    if (this.#left <= 0) return undefined;
    for await (const rule of this.#table.allStale(rulesOf(this.#namespace, topic.id))) {
      this.#left -= Math.max(RULE_BYTES_MIN, bytesOf(rule));
      if (this.#left < 0) return undefined;
      if (!live.has(String(rule['sk']).split('/', 1)[0] ?? '')) continue;
      counts[rule['kind'] === 'correlation' ? 'correlation' : 'sql']++;
    }
    return counts;
  }
}
