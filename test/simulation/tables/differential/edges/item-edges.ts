import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import {
  after,
  bytes,
  type Edge,
  edge,
  INVALID,
  ITEM_BYTES_MAX,
  key,
  put,
  sized,
  TableName,
  update,
} from './edge.ts';

function nested(depth: number): AttributeValue {
  return depth === 0 ? { S: 'x' } : { M: { a: nested(depth - 1) } };
}

function nestedList(depth: number): AttributeValue {
  return depth === 0 ? { S: 'x' } : { L: [nestedList(depth - 1)] };
}

/** Limits of items, keys and values. */
export const ITEM_EDGES: readonly Edge[] = [
  edge('an item of 400 KB', put(sized(ITEM_BYTES_MAX))),
  edge('an item of 400 KB and a byte', put(sized(ITEM_BYTES_MAX + 1)), INVALID),
  edge(
    'an item of 400 KB and a byte, on a condition',
    put(sized(ITEM_BYTES_MAX + 1), { ConditionExpression: 'attribute_exists(pk)' }),
    INVALID,
  ),
  after(
    'an update to more than 400 KB',
    [put(sized(300_000))],
    update('SET x = :x', { ExpressionAttributeValues: { ':x': bytes(150_000) } }),
    INVALID,
  ),
  edge('an empty partition key', put(key('')), INVALID),
  edge('an empty sort key', put(key('a', '')), INVALID),
  edge('no sort key', put({ pk: { S: 'a' } }), INVALID),
  edge('a partition key of another type', put({ ...key('a'), pk: { N: '1' } }), INVALID),
  edge('a partition key of 2048 bytes', put(key('x'.repeat(2048)))),
  edge('a partition key of 2049 bytes', put(key('x'.repeat(2049))), INVALID),
  edge('a sort key of 1024 bytes', put(key('a', 'x'.repeat(1024)))),
  edge('a sort key of 1025 bytes', put(key('a', 'x'.repeat(1025))), INVALID),
  edge(
    'a key with more than its attributes',
    { name: 'GetItemCommand', input: { TableName, Key: { ...key('a'), x: { S: 'x' } } } },
    INVALID,
  ),
  edge('an empty set', put({ ...key('a'), x: { NS: [] } }), INVALID),
  edge('a set with one number twice', put({ ...key('a'), x: { NS: ['1', '1.0'] } }), INVALID),
  edge('an empty text', put({ ...key('a'), x: { S: '' } })),
  edge('an empty binary value', put({ ...key('a'), x: { B: new Uint8Array() } })),
  edge('a text as a number', put({ ...key('a'), x: { N: 'x' } }), INVALID),
  edge('38 digits', put({ ...key('a'), x: { N: '1'.repeat(38) } })),
  edge('39 digits', put({ ...key('a'), x: { N: '1'.repeat(39) } }), INVALID),
  edge('the largest number', put({ ...key('a'), x: { N: '9e125' } })),
  edge('a larger number', put({ ...key('a'), x: { N: '1e126' } }), INVALID),
  edge('a larger number of two digits', put({ ...key('a'), x: { N: '99e125' } }), INVALID),
  edge('a small number of two digits', put({ ...key('a'), x: { N: '12e-131' } })),
  edge('the smallest number', put({ ...key('a'), x: { N: '1e-130' } })),
  edge('a smaller number', put({ ...key('a'), x: { N: '1e-131' } }), INVALID),
  edge('maps 31 levels deep', put({ ...key('a'), x: nested(31) })),
  edge('maps 32 levels deep', put({ ...key('a'), x: nested(32) }), INVALID),
  edge('lists 31 levels deep', put({ ...key('a'), x: nestedList(31) })),
  edge('lists 32 levels deep', put({ ...key('a'), x: nestedList(32) }), INVALID),
];
