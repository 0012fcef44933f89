import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBudget } from '../../shared/domain/memory-budget.ts';

const never = () => assert.fail('nobody is to be evicted');

test('a share holds no more than its limit, and the process counts all shares', () => {
  const budget = new MemoryBudget(100);
  const one = budget.open(60, never);
  const two = budget.open(60, never);
  assert.equal(one.hold(50), true);
  assert.equal(one.hold(11), false, 'more than its own limit');
  assert.equal(two.hold(50), true);
  assert.equal(budget.held, 100);
  one.release(20);
  assert.deepEqual([one.held, budget.held], [30, 80]);
});

test('a raised limit lets a share hold more', () => {
  const share = new MemoryBudget(100).open(10, never);
  assert.equal(share.hold(11), false);
  share.limit = 20;
  assert.equal(share.hold(11), true);
});

test('without room the largest holder is evicted, for smaller ones only', () => {
  const budget = new MemoryBudget(100);
  const evicted: string[] = [];
  const large = budget.open(100, () => evicted.push('large'));
  const small = budget.open(100, () => evicted.push('small'));
  assert.equal(large.hold(80), true);
  assert.equal(small.hold(20), true);
  assert.equal(large.hold(1), false, 'it is the largest itself');
  assert.equal(small.hold(10), true);
  assert.deepEqual(evicted, ['large']);
  assert.deepEqual([large.held, budget.held], [0, 30]);
  assert.equal(large.hold(1), false, 'its share is closed');
});

test('one that would become the largest itself is refused', () => {
  const budget = new MemoryBudget(100);
  const first = budget.open(100, never);
  const second = budget.open(100, never);
  assert.equal(first.hold(60), true);
  assert.equal(second.hold(60), false);
  assert.equal(second.hold(101), false);
  assert.equal(budget.held, 60);
});

test('a closed share gives back what it held, once', () => {
  const budget = new MemoryBudget(100);
  const share = budget.open(100, never);
  share.hold(40);
  share.close();
  share.release(40);
  share.close();
  assert.equal(budget.held, 0);
});
