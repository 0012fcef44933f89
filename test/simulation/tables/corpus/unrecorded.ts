import type { Shape } from './shapes.ts';

/**
 * Requests that storage sends in states which the recorded tests do not reach: due-work entries of an earlier
 * version, sessions that are released while other clients use them, and messages whose receiver gave up.
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
  {
    sentIn: 'alone',
    kind: 'UpdateItemCommand',
    fields: {
      UpdateExpression:
        'SET #s.#_a.#n = if_not_exists(#s.#_a.#n, :v2) + :v3 REMOVE #s.#_a.#t, #s.#_a.#u',
      ConditionExpression: '#s.#_a.#t = :v0 AND #s.#_a.#u > :v1',
      ExpressionAttributeNames: { '#_a': 'a', '#n': 'n', '#s': 's', '#t': 't', '#u': 'u' },
      ReturnConsumedCapacity: 'TOTAL',
      ReturnValues: 'ALL_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
    values: { ':v0': { B: true }, ':v1': { N: true }, ':v2': { N: true }, ':v3': { N: true } },
  },
];
