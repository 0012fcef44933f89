import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from '../../attribute-values.ts';
import { after, type Edge, edge, INVALID, key, one, put, REFUSED, update, x } from './edge.ts';

function padded(expression: string, length: number): string {
  return expression.padEnd(length, ' ');
}

/** A condition with `count` parts; the first one holds if there is no item. */
function alternatives(count: number, first: string, other: string): object {
  const parts = [first, ...Array.from({ length: count - 1 }, () => other)];
  return { ConditionExpression: parts.join(' OR '), ExpressionAttributeValues: one };
}

const equalities = (count: number) => alternatives(count, 'attribute_not_exists(pk)', 'a=:x');
const betweens = (count: number) =>
  alternatives(count, 'attribute_not_exists(pk)', 'a BETWEEN :x AND :x');
const sizes = (count: number) => alternatives(count, 'size(a)<>:x', 'size(a)=:x');

const exists = { ConditionExpression: 'attribute_exists(pk)' };

const ITEM = {
  ...key('a'),
  n: { N: '5' },
  t: { S: 'b' },
  m: { M: { b: { B: new Uint8Array([1]) } } },
};

/** A condition on `ITEM`, and whether it holds. */
function condition(expression: string, values: Item, holds: boolean): Edge {
  const written = put(ITEM, {
    ConditionExpression: expression,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  });
  return after(`the condition ${expression}`, [put(ITEM)], written, holds ? undefined : REFUSED);
}

/** Conditions beyond those that storage sends now. */
const CONDITIONS: readonly Edge[] = [
  condition('n = :x', { ':x': { N: '5.0' } }, true),
  condition('n <> :x', { ':x': { N: '5.0' } }, false),
  condition('n < :x', { ':x': { N: '10' } }, true),
  condition('n <= :x', { ':x': { N: '5' } }, true),
  condition('n >= :x', { ':x': { N: '4' } }, true),
  condition('t < :x', { ':x': { S: 'bb' } }, true),
  condition('m.b < :x', { ':x': { B: new Uint8Array([1, 0]) } }, true),
  condition('m = :x', { ':x': { M: { b: { B: new Uint8Array([1]) } } } }, true),
  condition('t = :x', one, false),
  condition('t <> :x', one, true),
  condition('t <= :x', one, false),
  condition('t > :x', one, false),
  condition('q <= :x', one, false),
  condition('q <> :x', one, true),
  condition('t BETWEEN :x AND :y', { ':x': { N: '1' }, ':y': { N: '9' } }, false),
  condition('size(t) = :x', one, true),
  condition('size(n) = :x', one, false),
  condition('contains(t, :x)', { ':x': { S: 'b' } }, true),
  condition('contains(n, :x)', { ':x': { N: '5' } }, false),
  condition('attribute_exists(n) OR attribute_exists(q) AND attribute_exists(r)', {}, true),
  condition('(attribute_exists(n) OR attribute_exists(q)) AND attribute_exists(r)', {}, false),
  condition('attribute_exists(m.b) AND attribute_not_exists(m.c)', {}, true),
  condition('attribute_exists(t.b)', {}, false),
];

/** A comparison with a value that has no order, which the service refuses before it looks at an item. */
const unordered = (name: string, value: AttributeValue): Edge =>
  edge(
    `an order of ${name}`,
    put(key('a'), {
      ConditionExpression: 'attribute_not_exists(n) OR n <= :x',
      ExpressionAttributeValues: { ':x': value },
    }),
    INVALID,
  );

/** Limits of expressions and their placeholders. */
export const EXPRESSION_EDGES: readonly Edge[] = [
  ...CONDITIONS,
  unordered('truth values', { BOOL: false }),
  unordered('nothing', { NULL: true }),
  unordered('maps', { M: {} }),
  unordered('lists', { L: [] }),
  unordered('sets', { NS: ['1'] }),
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
    'a sum with what is there',
    [put({ ...key('a'), x: { M: { y: { N: '2' }, z: { N: '7' } } } })],
    update('SET x.y = if_not_exists(x.y, :x) + :x REMOVE x.z', {
      ExpressionAttributeValues: one,
      ReturnValues: 'ALL_NEW',
    }),
  ),
  after(
    'a sum with a default',
    [put({ ...key('a'), x: { M: {} } })],
    update('SET x.y = if_not_exists(x.y, :x) + :x', {
      ExpressionAttributeValues: one,
      ReturnValues: 'ALL_NEW',
    }),
  ),
  after(
    'a sum with a text',
    [put({ ...key('a'), x: { S: 'x' } })],
    update('SET x = if_not_exists(x, :x) + :x', { ExpressionAttributeValues: one }),
    INVALID,
  ),
  after(
    'a member taken out of a text',
    [put({ ...key('a'), x: { S: 'x' } })],
    update('DELETE x :x', { ExpressionAttributeValues: { ':x': { NS: ['1'] } } }),
    INVALID,
  ),
  after(
    'the last member taken out of a set',
    [put({ ...key('a'), x: { NS: ['1', '2'] } })],
    update('DELETE x :x', {
      ExpressionAttributeValues: { ':x': { NS: ['2', '1', '3'] } },
      ReturnValues: 'ALL_NEW',
    }),
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
];
