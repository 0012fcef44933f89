import type { Shape } from './shapes.ts';

/**
 * Requests that storage emits in states which the recorded tests do not come to: entries of the agenda that an earlier
 * version wrote, sessions that nobody ever held.
 */
export const UNRECORDED: readonly Shape[] = [
  {
    sentIn: 'alone',
    kind: 'DeleteItemCommand',
    fields: {
      ConditionExpression: 'attribute_not_exists(stamp)',
      ReturnConsumedCapacity: 'TOTAL',
    },
  },
  {
    sentIn: 'alone',
    kind: 'DeleteItemCommand',
    fields: {
      ConditionExpression: 'attribute_not_exists(k) AND attribute_not_exists(w)',
      ReturnConsumedCapacity: 'TOTAL',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  },
];
