import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from '../../../shared/domain/bounded-map.ts';

/** A map of numbers that records the values that it forgets. */
function start(max: number) {
  const forgotten: number[] = [];
  const map = new BoundedMap<number, number>(max, (values) => forgotten.push(...values));
  return { map, forgotten };
}

for (const max of [1, 2, 7, 100]) {
  test(`a map of ${max} entries keeps at least the last half of them, and never more than all`, () => {
    const { map, forgotten } = start(max);
    for (let key = 0; key < 1000; key++) {
      map.set(key, key);
      assert.ok(map.size <= max, `${map.size} entries`);
      assert.equal(map.size + forgotten.length, key + 1);
      for (let back = 0; back * 2 < max && back <= key; back++) {
        assert.equal(map.get(key - back), key - back);
      }
    }
  });
}

test('an entry that is read or set again and again stays', () => {
  const { map, forgotten } = start(10);
  map.set(-1, -1);
  map.set(-2, -2);
  for (let key = 0; key < 1000; key++) {
    map.set(key, key);
    assert.equal(map.get(-1), -1);
    map.set(-2, -2);
  }
  assert.ok(forgotten.every((value) => value >= 0));
});

test('setting replaces, and deleting removes, wherever the entry is', () => {
  const { map, forgotten } = start(4);
  map.set(1, 1);
  map.set(2, 2);
  map.set(1, 10);
  assert.equal(map.get(1), 10);
  map.delete(1);
  map.delete(2);
  assert.equal(map.get(1), undefined);
  assert.equal(map.get(2), undefined);
  assert.equal(map.size, 0);
  assert.deepEqual(forgotten, []);
});
