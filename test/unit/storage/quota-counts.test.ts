import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Quota } from '../../../shared/broker/ports/management.ts';
import type { Document, DocumentTable } from '../../../shared/storage/dynamodb/document-table.ts';
import { DynamoQuotaCounts } from '../../../shared/storage/entities/quota-counts.ts';

const ENTITIES: Quota = { name: 'entities', limit: 10_000 };
const PARTITIONED: Quota = { name: 'partitioned', limit: 100 };

/** A table with one document of counts, and as many entities as are counted. */
function fakeTable(counted: () => number) {
  const document: Record<string, number> = {};
  const log = { counts: 0, writes: 0 };
  const table = {
    get: async () => ({ ...document }),
    put: async () => ({ done: true, document: undefined, isUncertain: false }),
    update: async (
      _: unknown,
      update: {
        UpdateExpression: string;
        ExpressionAttributeNames: Record<string, string>;
        ExpressionAttributeValues: Record<string, number>;
      },
    ) => {
      const {
        UpdateExpression,
        ExpressionAttributeNames: names,
        ExpressionAttributeValues,
      } = update;
      log.writes++;
      if (UpdateExpression.startsWith('SET')) {
        const name = names['#name'] ?? '';
        const { ':stored': stored, ':counted': value = 0 } = ExpressionAttributeValues;
        const done = document[name] === stored;
        if (done) document[name] = value;
        return { done, document: undefined, isUncertain: false };
      }
      for (const [i, name] of Object.values(names).entries()) {
        document[name] = (document[name] ?? 0) + (ExpressionAttributeValues[`:step${i}`] ?? 0);
      }
      return { done: true, document: undefined, isUncertain: false };
    },
    async *all(): AsyncGenerator<Document> {
      log.counts++;
      for (let i = 0; i < counted(); i++) yield { partitions: 16 };
    },
  };
  return { table: table as unknown as DocumentTable, document, log };
}

function processOf(table: DocumentTable, start: number) {
  const random = { bytes: () => Uint8Array.of(start, 0) };
  return new DynamoQuotaCounts({ table, namespace: 'n', random });
}

test('a namespace without a count is counted once, and then never below its limit', async () => {
  const { table, log } = fakeTable(() => 5000);
  const counts = processOf(table, 0);
  assert.deepEqual(await counts.numbersOf({}, [ENTITIES]), [5000]);
  assert.deepEqual(await counts.numbersOf({}, [ENTITIES]), [5000]);
  assert.equal(log.counts, 1);
});

test('a process adds a step for as many creations, and many processes add as many on average', async () => {
  const { table, document, log } = fakeTable(() => 0);
  const one = processOf(table, 0);
  await one.numbersOf({}, [ENTITIES]);
  const before = log.writes;
  for (let i = 0; i < 1000; i++) await one.noteCreated({}, [ENTITIES]);
  assert.equal(document['entities'], 1000);
  assert.equal(log.writes - before, 100);
  // Each of a hundred processes creates one entity.
  for (let i = 0; i < 100; i++) await processOf(table, i).noteCreated({}, [ENTITIES]);
  assert.equal(document['entities'], 1100);
});

test('small limits are noted one by one', async () => {
  const { table, document } = fakeTable(() => 0);
  const counts = processOf(table, 7);
  await counts.numbersOf({}, [ENTITIES, PARTITIONED]);
  for (let i = 0; i < 3; i++) await counts.noteCreated({}, [ENTITIES, PARTITIONED]);
  assert.equal(document['partitioned'], 3);
});

test('a number at its limit is counted anew, so that removals count', async () => {
  let there = 0;
  const { table, document, log } = fakeTable(() => there);
  const counts = processOf(table, 0);
  await counts.numbersOf({}, [PARTITIONED]);
  for (let i = 0; i < 100; i++) await counts.noteCreated({}, [PARTITIONED]);
  there = 40;
  assert.deepEqual(await counts.numbersOf({}, [PARTITIONED]), [40]);
  assert.equal(document['partitioned'], 40);
  there = 100;
  for (let i = 0; i < 60; i++) await counts.noteCreated({}, [PARTITIONED]);
  assert.deepEqual(await counts.numbersOf({}, [PARTITIONED]), [100]);
  assert.equal(log.counts, 3);
});

test('what others created while a process counted is not lost', async () => {
  const { table, document } = fakeTable(() => {
    document['partitioned'] = 101;
    return 99;
  });
  document['partitioned'] = 100;
  assert.deepEqual(await processOf(table, 0).numbersOf({}, [PARTITIONED]), [99]);
  assert.equal(document['partitioned'], 101);
});
