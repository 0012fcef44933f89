import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { knownShapes } from './known-shapes.ts';
import { mergedShapes, shapesOf } from './shapes.ts';

/** A literal expression in the code, or two of them in a conditional. */
const LITERAL = /Expression:(?:[^'`\n]*\?)?\s*'(?<expression>[^']+)'(?:\s*:\s*'(?<other>[^']+)')?/g;
/** The folder of the code that sends requests to DynamoDB. */
const STORAGE = new URL('../../../../shared/storage/', import.meta.url);

test('the corpus of the differential tests contains every literal expression in the code of storage', () => {
  const known = knownShapes().flatMap(({ fields }) => Object.values(fields));
  const expressions = readdirSync(STORAGE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => [...readFileSync(new URL(path, STORAGE), 'utf8').matchAll(LITERAL)])
    .flatMap(({ groups }) => [groups?.['expression'], groups?.['other']])
    .filter((expression) => expression !== undefined);

  assert.ok(expressions.length > 20);
  assert.deepEqual(
    expressions.filter((expression) => !known.includes(expression)),
    [],
    'record them with record.ts',
  );
});

const PATH = { '#s': 's', '#_x': 'x', '#_y': 'y', '#_z': 'z', '#_0': '0', '#t': 't', '#u': 'u' };

test('changes of blocks that differ only in their slots have one shape', () => {
  const change = (slots: readonly string[]) =>
    shapesOf('UpdateItemCommand', {
      UpdateExpression: `REMOVE ${slots.map((slot) => `#s.#_${slot}`).join(', ')}`,
      ConditionExpression: slots
        .map((slot) => `#s.#_${slot}.#t = :v0 AND #s.#_${slot}.#u BETWEEN :v1 AND :v2`)
        .join(' AND '),
      ExpressionAttributeNames: PATH,
      ExpressionAttributeValues: {
        ':v0': { B: new Uint8Array(2) },
        ':v1': { N: '1' },
        ':v2': { N: '2' },
      },
    });

  const [two] = change(['x', '0']);

  assert.deepEqual(change(['z', 'x']), [two]);
  assert.deepEqual(change(['0', 'y', 'z', 'x']), [two]);
  assert.deepEqual(two?.fields, {
    UpdateExpression: 'REMOVE #s.#_a, #s.#_b',
    ConditionExpression:
      '#s.#_a.#t = :v0 AND #s.#_a.#u BETWEEN :v1 AND :v2 AND #s.#_b.#t = :v0 AND #s.#_b.#u BETWEEN :v1 AND :v2',
    ExpressionAttributeNames: { '#_a': 'a', '#_b': 'b', '#s': 's', '#t': 't', '#u': 'u' },
  });
});

test('requests of one kind are merged into one shape with all of their types', () => {
  const put = (Item: object) => shapesOf('PutItemCommand', { TableName: 'any', Item });
  const shapes = [
    ...put({ pk: { S: 'a' }, s: { M: { x: { M: { u: { N: '1' } } }, '0': { M: {} } } } }),
    ...put({ pk: { S: 'a' }, d: { S: 'x' } }),
    ...put({ pk: { S: 'a' }, d: { B: new Uint8Array() } }),
  ];

  assert.deepEqual(mergedShapes(shapes), [
    {
      sentIn: 'alone',
      kind: 'PutItemCommand',
      fields: {},
      item: {
        pk: { S: true },
        s: { M: { '*': { M: { u: { N: true } } } } },
        d: { S: true, B: true },
      },
    },
  ]);
});
