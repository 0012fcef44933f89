import type { Item } from '../../attribute-values.ts';
import type { RandomRequest } from '../random-requests.ts';
import { after, type Edge, edge, INVALID, key, put, sized, TableName, times } from './edge.ts';

function query(options: object, values: Item = {}): RandomRequest {
  return {
    name: 'QueryCommand',
    input: {
      TableName,
      KeyConditionExpression: 'pk = :pk',
      ...options,
      ExpressionAttributeValues: { ':pk': { S: 'a' }, ...values },
      ReturnConsumedCapacity: 'TOTAL',
    },
  };
}

const range = { KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to' };
const prefixed = { KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)' };

/** Limits of pages and their starts. */
export const QUERY_EDGES: readonly Edge[] = [
  after(
    'a page that ends after exactly 1 MB',
    times(5, (name) => put(sized(256 * 1024, name.slice(2)))),
    query({}),
  ),
  after(
    'a page of items of 400 KB',
    times(5, (name) => put(sized(400_000, name))),
    query({}),
  ),
  after(
    'a page of items of 400 KB with a projection',
    times(5, (name) => put(sized(400_000, name))),
    query({ ProjectionExpression: 'sk' }),
  ),
  after(
    'a page with room for one more',
    times(2, (name) => put(key('a', name))),
    query({ Limit: 3 }),
  ),
  after(
    'a page that is just full',
    times(2, (name) => put(key('a', name))),
    query({ Limit: 2 }),
  ),
  edge('a page with a limit of 0', query({ Limit: 0 }), INVALID),
  edge('a page that begins elsewhere', query({ ExclusiveStartKey: key('b') }), INVALID),
  edge(
    'a page that begins before its range',
    query(
      { ...range, ExclusiveStartKey: key('a', '0') },
      { ':from': { S: '2' }, ':to': { S: '3' } },
    ),
    INVALID,
  ),
  edge(
    'a page that begins behind its range',
    query(
      { ...range, ExclusiveStartKey: key('a', '5') },
      { ':from': { S: '2' }, ':to': { S: '3' } },
    ),
    INVALID,
  ),
  edge(
    'a page that begins beside its prefix',
    query({ ...prefixed, ExclusiveStartKey: key('a', '0') }, { ':prefix': { S: '2' } }),
    INVALID,
  ),
  edge(
    'bounds of keys in the wrong order',
    query(range, { ':from': { S: 'b' }, ':to': { S: 'a' } }),
    INVALID,
  ),
  edge('an empty bound', query(range, { ':from': { S: '' }, ':to': { S: 'a' } }), INVALID),
  edge('an empty prefix', query(prefixed, { ':prefix': { S: '' } }), INVALID),
  after(
    'numbers in many forms',
    [
      put({
        ...key('a'),
        ...Object.fromEntries(
          [
            '1e3',
            '1E30',
            '0.00001',
            '1.50',
            '-0',
            '007',
            '+5',
            '123456789012345678901234567890.12',
          ].map((N, i) => [`n${i}`, { N }] as const),
        ),
      }),
    ],
    query({}),
  ),
];
