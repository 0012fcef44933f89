import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShownEntity } from '../../../explorer/namespace/entity.ts';
import { History } from '../../../explorer/namespace/history.ts';

const entity = (name: string, active: number) =>
  ({ name, active, deadLetter: 0 }) as unknown as ShownEntity;

test('a history has the last 60 moments of an entity, the oldest first', () => {
  const history = new History();
  for (let moment = 0; moment < 70; moment++) history.add([entity('orders', moment)]);
  const { active = [] } = history.of('orders') ?? {};
  assert.deepEqual([active.length, active[0], active.at(-1)], [60, 10, 69]);
});

test('a history forgets an entity that is gone', () => {
  const history = new History();
  history.add([entity('orders', 1), entity('audit', 2)]);
  history.add([entity('audit', 3)]);
  assert.equal(history.of('orders'), undefined);
  assert.deepEqual(history.of('audit')?.active, [2, 3]);
});
