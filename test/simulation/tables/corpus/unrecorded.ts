import type { Shape } from './shapes.ts';

/**
 * Requests that storage sends in states which the recorded tests do not reach: due-work entries of an earlier
 * version, and sessions that are released while other clients use them.
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
      ConditionExpression: 'attribute_not_exists(k) AND r = :released AND attribute_not_exists(w)',
      ReturnConsumedCapacity: 'TOTAL',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
    values: { ':released': { B: true } },
  },
  {
    sentIn: 'alone',
    kind: 'DeleteItemCommand',
    fields: {
      ConditionExpression:
        'k = :token AND u = :until AND r = :released AND attribute_not_exists(w)',
      ReturnConsumedCapacity: 'TOTAL',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
    values: { ':token': { B: true }, ':until': { N: true }, ':released': { B: true } },
  },
  {
    sentIn: 'alone',
    kind: 'UpdateItemCommand',
    fields: {
      UpdateExpression: 'SET r = :released',
      ConditionExpression: 'attribute_not_exists(r)',
      ReturnConsumedCapacity: 'TOTAL',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
    values: { ':released': { B: true } },
  },
];
