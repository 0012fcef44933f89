import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEntity } from '../../../explorer/namespace/entity.ts';
import { arrange, type SortKey } from '../../../explorer/overview/sort-entities.ts';

const ALL = { text: '', onlyDeadLetters: false };
const ENTITIES = [
  { name: 'queue-10', activeMessageCount: 1, deferredMessageCount: 1, sizeInBytes: 5 },
  { name: 'queue-9', deadLetterMessageCount: 2, activeMessageCount: 2, sizeInBytes: 9 },
  { name: 'Queue-1', scheduledMessageCount: 4, activeMessageCount: 3 },
  { name: 'moved', transferDeadLetterMessageCount: 3, deadLetterMessageCount: 0 },
].map((json) => readEntity({ kind: 'queue', ...json }));

for (const [by, expected] of [
  ['attention', ['moved', 'queue-9', 'Queue-1', 'queue-10']],
  ['name', ['moved', 'Queue-1', 'queue-9', 'queue-10']],
  ['active', ['Queue-1', 'queue-9', 'moved', 'queue-10']],
  ['scheduled', ['Queue-1', 'moved', 'queue-9', 'queue-10']],
  ['deferred', ['queue-10', 'moved', 'Queue-1', 'queue-9']],
  ['transfer', ['moved', 'Queue-1', 'queue-9', 'queue-10']],
  ['size', ['queue-9', 'queue-10', 'moved', 'Queue-1']],
] as const satisfies readonly (readonly [SortKey, readonly string[]])[]) {
  test(`entities are sorted by ${by}, and then by name`, () => {
    assert.deepEqual(namesOf(arrange(ENTITIES, ALL, by)), expected);
  });
}

test('entities are found by a part of their name in any case', () => {
  const filter = { text: ' QUEUE-1 ', onlyDeadLetters: false };
  assert.deepEqual(namesOf(arrange(ENTITIES, filter, 'name')), ['Queue-1', 'queue-10']);
});

test('dead letters are also those that could not be forwarded', () => {
  const filter = { text: '', onlyDeadLetters: true };
  assert.deepEqual(namesOf(arrange(ENTITIES, filter, 'name')), ['moved', 'queue-9']);
});

function namesOf(entities: ReturnType<typeof arrange>): readonly string[] {
  return entities.map(({ name }) => name);
}
