import { after, type Edge, edge, INVALID, key, one, put, update, x } from './edge.ts';

function padded(expression: string, length: number): string {
  return expression.padEnd(length, ' ');
}

/** A condition of so many parts; the first one holds where there is no item. */
function alternatives(count: number, first: string, other: string): object {
  const parts = [first, ...Array.from({ length: count - 1 }, () => other)];
  return { ConditionExpression: parts.join(' OR '), ExpressionAttributeValues: one };
}

const equalities = (count: number) => alternatives(count, 'attribute_not_exists(pk)', 'a=:x');
const betweens = (count: number) =>
  alternatives(count, 'attribute_not_exists(pk)', 'a BETWEEN :x AND :x');
const sizes = (count: number) => alternatives(count, 'size(a)<>:x', 'size(a)=:x');

const exists = { ConditionExpression: 'attribute_exists(pk)' };

/** What expressions may say, and their placeholders. */
export const EXPRESSION_EDGES: readonly Edge[] = [
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
];
