import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { seedOfRun } from '../../../../support/load-random.ts';
import type { Item } from '../../attribute-values.ts';
import type { RandomRequest } from '../random-requests.ts';
import {
  after,
  bytes,
  CANCELED,
  type Edge,
  edge,
  INVALID,
  key,
  put,
  sized,
  TableName,
  times,
} from './edge.ts';

function transact(
  TransactItems: readonly TransactWriteItem[],
  options: object = {},
): RandomRequest {
  return { name: 'TransactWriteItemsCommand', input: { TransactItems, ...options } };
}

function transactPuts(items: readonly Item[], options: object = {}): RandomRequest {
  return transact(
    items.map((Item) => ({ Put: { TableName, Item } })),
    options,
  );
}

function batchWrite(requests: readonly object[]): RandomRequest {
  return { name: 'BatchWriteItemCommand', input: { RequestItems: { [TableName]: requests } } };
}

function batchGet(Keys: readonly Item[]): RandomRequest {
  const RequestItems = { [TableName]: { Keys } };
  return { name: 'BatchGetItemCommand', input: { RequestItems, ReturnConsumedCapacity: 'TOTAL' } };
}

/** Tokens of this run only, because an engine may remember those of earlier runs. */
const [ONCE, TWICE] = [`once-${seedOfRun()}`, `twice-${seedOfRun()}`];

/** Limits of transactions and batches. */
export const REQUEST_EDGES: readonly Edge[] = [
  edge('a transaction of 100 items', transactPuts(times(100, (name) => key('a', name)))),
  edge('a transaction of 101 items', transactPuts(times(101, (name) => key('a', name))), INVALID),
  edge('a transaction without items', transact([]), INVALID),
  edge('a transaction with one key twice', transactPuts([key('a'), key('a')]), INVALID),
  edge('a transaction of nearly 4 MB', transactPuts(times(10, (name) => sized(400_000, name)))),
  edge(
    'a transaction of more than 4 MB',
    transactPuts(times(11, (name) => sized(400_000, name))),
    INVALID,
  ),
  after(
    'an update in a transaction that makes an item too large',
    [put(sized(300_000))],
    transact([
      {
        Update: {
          TableName,
          Key: key('a'),
          UpdateExpression: 'SET x = :x',
          ExpressionAttributeValues: { ':x': bytes(150_000) },
        },
      },
      { Put: { TableName, Item: key('b') } },
    ]),
    CANCELED,
  ),
  edge(
    'a path into nothing in a transaction',
    transact([
      { Update: { TableName, Key: key('a'), UpdateExpression: 'REMOVE x.y' } },
      { Put: { TableName, Item: key('b') } },
    ]),
    CANCELED,
  ),
  after(
    'a transaction repeated under its token',
    [transactPuts([sized(5000)], { ClientRequestToken: ONCE }), put(key('a'))],
    transactPuts([sized(5000)], { ClientRequestToken: ONCE, ReturnConsumedCapacity: 'TOTAL' }),
  ),
  after(
    'another transaction under the same token',
    [transactPuts([key('a')], { ClientRequestToken: TWICE })],
    transactPuts([key('b')], { ClientRequestToken: TWICE }),
    'IdempotentParameterMismatchException',
  ),
  edge(
    'a batch of 25 writes',
    batchWrite(times(25, (name) => ({ PutRequest: { Item: key('a', name) } }))),
  ),
  edge(
    'a batch of 26 writes',
    batchWrite(times(26, (name) => ({ PutRequest: { Item: key('a', name) } }))),
    INVALID,
  ),
  edge(
    'a batch that writes one key twice',
    batchWrite([{ PutRequest: { Item: key('a') } }, { DeleteRequest: { Key: key('a') } }]),
    INVALID,
  ),
  edge('a batch of 101 reads', batchGet(times(101, (name) => key('a', name))), INVALID),
  edge('a batch that reads one key twice', batchGet([key('a'), key('a')]), INVALID),
  after(
    'a batch that reads more than 16 MB',
    times(45, (name) => put(sized(400_000, name))),
    batchGet(times(45, (name) => key('a', name))),
  ),
];
