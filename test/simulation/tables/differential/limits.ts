import type { AttributeValue, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { Item } from '../attribute-values.ts';
import type { RandomRequest } from './random-requests.ts';

/** Requests at the edges of what the service takes, and what it says to them. */

/** Some requests in a row, to a table of their own. */
export interface Edge {
  readonly name: string;
  /** What comes before. */
  readonly before: readonly RandomRequest[];
  readonly request: RandomRequest;
  /** The name of the exception; undefined = it is carried out. */
  readonly error?: string;
}

const INVALID = 'ValidationException';
const CANCELED = 'TransactionCanceledException';
/** Every request is about this table. */
export const EDGE_TABLE = 'edges';
const TableName = EDGE_TABLE;
const ITEM_BYTES_MAX = 400 * 1024;
/** Bytes of an item of the form below that has nothing in `d`. */
const BARE_BYTES = 'pk'.length + 'a'.length + 'sk'.length + 's'.length + 'd'.length;

function key(pk: string, sk = 's'): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}

function bytes(count: number): AttributeValue {
  return { B: new Uint8Array(count) };
}

/** An item of exactly so many bytes, under a key of two letters. */
function sized(count: number, sk = 's'): Item {
  return { ...key('a', sk), d: bytes(count - BARE_BYTES) };
}

function put(Item: Item, options: object = {}): RandomRequest {
  return { name: 'PutItemCommand', input: { TableName, Item, ...options } };
}

function update(UpdateExpression: string, options: object = {}, Key = key('a')): RandomRequest {
  return { name: 'UpdateItemCommand', input: { TableName, Key, UpdateExpression, ...options } };
}

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

const x = { ':x': { S: 'x' } };
const one = { ':x': { N: '1' } };
const range = { KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to' };
const prefixed = { KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)' };

function times<Thing>(count: number, make: (name: string) => Thing): readonly Thing[] {
  return Array.from({ length: count }, (_, i) => make(String(i).padStart(3, '0')));
}

function nested(depth: number): AttributeValue {
  return depth === 0 ? { S: 'x' } : { M: { a: nested(depth - 1) } };
}

function nestedList(depth: number): AttributeValue {
  return depth === 0 ? { S: 'x' } : { L: [nestedList(depth - 1)] };
}

function padded(expression: string, length: number): string {
  return expression.padEnd(length, ' ');
}

/** A condition that holds, of so many parts beside the first. */
function alternatives(count: number, part: string): object {
  const parts = ['attribute_not_exists(pk)', ...Array.from({ length: count - 1 }, () => part)];
  return { ConditionExpression: parts.join(' OR '), ExpressionAttributeValues: one };
}

const equalities = (count: number) => alternatives(count, 'a=:x');
const betweens = (count: number) => alternatives(count, 'a BETWEEN :x AND :x');
/** The first part has no comparison, so one more is in the last. */
const sizes = (count: number) => ({
  ...alternatives(count, 'size(a)=:x'),
  ConditionExpression: Array.from({ length: count }, (_, i) =>
    i === 0 ? 'size(a)<>:x' : 'size(a)=:x',
  ).join(' OR '),
});

const EXISTS = 'attribute_exists(pk)';
const exists = { ConditionExpression: EXISTS };

/** Each edge on both of its sides, where it has two. */
export const EDGES: readonly Edge[] = [
  edge('an item of 400 KB', put(sized(ITEM_BYTES_MAX))),
  edge('an item of 400 KB and a byte', put(sized(ITEM_BYTES_MAX + 1)), INVALID),
  edge('the same on a condition', put(sized(ITEM_BYTES_MAX + 1), exists), INVALID),
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
  edge('no bytes', put({ ...key('a'), x: { B: new Uint8Array() } })),
  edge('no number', put({ ...key('a'), x: { N: 'x' } }), INVALID),
  edge('38 digits', put({ ...key('a'), x: { N: '1'.repeat(38) } })),
  edge('39 digits', put({ ...key('a'), x: { N: '1'.repeat(39) } }), INVALID),
  edge('the largest number', put({ ...key('a'), x: { N: '9e125' } })),
  edge('a larger number', put({ ...key('a'), x: { N: '1e126' } }), INVALID),
  edge('the smallest number', put({ ...key('a'), x: { N: '1e-130' } })),
  edge('a smaller number', put({ ...key('a'), x: { N: '1e-131' } }), INVALID),
  edge('maps 31 levels deep', put({ ...key('a'), x: nested(31) })),
  edge('maps 32 levels deep', put({ ...key('a'), x: nested(32) }), INVALID),
  edge('lists 31 levels deep', put({ ...key('a'), x: nestedList(31) })),
  edge('lists 32 levels deep', put({ ...key('a'), x: nestedList(32) }), INVALID),
  edge(
    'a value that no expression uses',
    put(key('a'), { ...exists, ExpressionAttributeValues: x }),
    INVALID,
  ),
  edge('values without an expression', put(key('a'), { ExpressionAttributeValues: x }), INVALID),
  edge('no values', put(key('a'), { ...exists, ExpressionAttributeValues: {} }), INVALID),
  edge('no names', put(key('a'), { ...exists, ExpressionAttributeNames: {} }), INVALID),
  edge(
    'a name that no expression uses',
    put(key('a'), { ...exists, ExpressionAttributeNames: { '#x': 'x' } }),
    INVALID,
  ),
  edge('a value that is not given', put(key('a'), { ConditionExpression: 'x = :x' }), INVALID),
  edge(
    'a name that is not given',
    put(key('a'), { ConditionExpression: 'attribute_exists(#x)' }),
    INVALID,
  ),
  edge('an expression of 4096 bytes', update(padded('REMOVE x', 4096))),
  edge('an expression of 4097 bytes', update(padded('REMOVE x', 4097)), INVALID),
  edge('a condition of 299 operators', put(key('a'), equalities(150))),
  edge('a condition of 301 operators', put(key('a'), equalities(151)), INVALID),
  edge('a condition of 299 operators with bounds', put(key('a'), betweens(150))),
  edge('a condition of 301 operators with bounds', put(key('a'), betweens(151)), INVALID),
  edge('a condition of 299 operators with sizes', put(key('a'), sizes(100))),
  edge('a condition of 302 operators with sizes', put(key('a'), sizes(101)), INVALID),
  edge(
    'one path within another',
    update('SET x = :x REMOVE x.y', { ExpressionAttributeValues: x }),
    INVALID,
  ),
  edge('one path twice', update('SET x = :x, x = :x', { ExpressionAttributeValues: x }), INVALID),
  edge('a new sort key', update('SET sk = :x', { ExpressionAttributeValues: x }), INVALID),
  edge('a path into nothing', update('REMOVE x.y'), INVALID),
  after(
    'a path into a text',
    [put({ ...key('a'), x: { S: 'x' } })],
    update('SET x.y = :x', { ExpressionAttributeValues: x }),
    INVALID,
  ),
  after(
    'an update of what is missing in a map',
    [put({ ...key('a'), x: { M: {} } })],
    update('REMOVE x.y', { ReturnValues: 'ALL_NEW' }),
  ),
  after(
    'a number added to a text',
    [put({ ...key('a'), x: { S: 'x' } })],
    update('ADD x :x', { ExpressionAttributeValues: one }),
    INVALID,
  ),
  after(
    'a member taken out of a text',
    [put({ ...key('a'), x: { S: 'x' } })],
    update('DELETE x :x', { ExpressionAttributeValues: { ':x': { NS: ['1'] } } }),
    INVALID,
  ),
  edge(
    'a member taken out of nothing',
    update('DELETE x :x SET y = :y', {
      ExpressionAttributeValues: { ':x': { NS: ['1'] }, ':y': { N: '1' } },
      ReturnValues: 'ALL_NEW',
    }),
  ),
  after(
    'a sum of 39 digits',
    [put({ ...key('a'), x: { N: '9'.repeat(38) } })],
    update('ADD x :x', { ExpressionAttributeValues: { ':x': { N: '0.5' } } }),
    INVALID,
  ),
  after(
    'a sum whose last digit is zero',
    [put({ ...key('a'), x: { N: '9'.repeat(38) } })],
    update('ADD x :x', { ExpressionAttributeValues: one, ReturnValues: 'ALL_NEW' }),
  ),
  edge(
    'bounds in the wrong order',
    put(key('a'), {
      ConditionExpression: 'x BETWEEN :a AND :b',
      ExpressionAttributeValues: { ':a': { N: '2' }, ':b': { N: '1' } },
    }),
    INVALID,
  ),
  edge('a transaction of 100 items', transactPuts(times(100, (name) => key('a', name)))),
  edge('a transaction of 101 items', transactPuts(times(101, (name) => key('a', name))), INVALID),
  edge('a transaction of nothing', transact([]), INVALID),
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
    'a transaction again, by its token',
    [transactPuts([sized(5000)], { ClientRequestToken: 'once' }), put(key('a'))],
    transactPuts([sized(5000)], { ClientRequestToken: 'once', ReturnConsumedCapacity: 'TOTAL' }),
  ),
  after(
    'another transaction under the same token',
    [transactPuts([key('a')], { ClientRequestToken: 'twice' })],
    transactPuts([key('b')], { ClientRequestToken: 'twice' }),
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
    'a page of which little is shown',
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
  edge('a page of nothing', query({ Limit: 0 }), INVALID),
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

function edge(name: string, request: RandomRequest, error?: string): Edge {
  return after(name, [], request, error);
}

function after(
  name: string,
  before: readonly RandomRequest[],
  request: RandomRequest,
  error?: string,
): Edge {
  return { name, before, request, ...(error !== undefined && { error }) };
}
