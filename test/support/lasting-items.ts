import type { ItemKey } from '../../shared/storage/dynamodb/table.ts';
import {
  ALL_TOPICS_LISTED,
  quotaCountsKey,
  sweepStateKey,
  topicListEntry,
} from '../../shared/storage/schema/entity-keys.ts';

/** The items of the entities table that a namespace keeps, whatever is deleted. */
export function lastingItems(namespace: string): readonly ItemKey[] {
  return [
    sweepStateKey(namespace),
    quotaCountsKey(namespace),
    topicListEntry(namespace, ALL_TOPICS_LISTED),
  ];
}
