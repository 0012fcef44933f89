import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextIdleCheck } from '../../../shared/domain/entities/idle.ts';

const CREATED = { createdAt: 1000 };

test('a check takes place when the entity may be deleted, or one idle time after its creation, whichever is first', () => {
  for (const [deletableAt, now, next] of [
    [1300, 1000, 1300],
    [1299, 1000, 1299],
    [1301, 1000, 1300],
    [1301, 1299, 1300],
    [1301, 1300, 1301],
    [9000, 1300, 1600],
    [9000, 5431, 5500],
  ] as const) {
    assert.equal(nextIdleCheck(CREATED, 300, deletableAt, now), next, `${deletableAt} at ${now}`);
  }
});

test('a check of an entity that a clock ahead of this one created is not in the past', () => {
  assert.equal(nextIdleCheck(CREATED, 300, 1300, 800), 1000);
});

test('checks that began at different times become one', () => {
  const chains = [1000, 1007, 1111, 1200, 1299];
  // The entity is used all the time.
  for (let i = 0; i < 3; i++) {
    for (const [place, now] of chains.entries()) {
      chains[place] = nextIdleCheck(CREATED, 300, now + 300, now);
    }
  }
  assert.equal(new Set(chains).size, 1);
});
