import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';

const { heldShareBesidePinned } = BUDGETS.process;
const never = () => assert.fail('no peer may be evicted');

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

test('a share may hold more once its peer is authorized', () => {
  const budget = new MemoryBudget(100);
  const share = budget.openUnauthorized(10, never);
  assert.equal(share.hold(11), false);
  assert.equal(share.hold(8), true);
  share.authorize(20);
  assert.equal(share.hold(12), true);
  assert.deepEqual([share.held, budget.held, budget.free], [20, 20, 80]);
  share.close();
  assert.deepEqual([budget.held, budget.free], [0, 100]);
});

test('unauthorized peers compete for a pool of their own, and take nothing from the others', () => {
  const budget = new MemoryBudget(800);
  const honest = budget.open(800, never);
  assert.equal(honest.hold(790), true);
  const evicted: number[] = [];
  const unauthorized = Array.from({ length: 30 }, (_, index) =>
    budget.openUnauthorized(50, () => evicted.push(index)),
  );
  for (const [index, one] of unauthorized.entries()) {
    one.hold(index === 3 ? 20 : 10);
    assert.ok(budget.held - honest.held <= 100);
  }
  assert.deepEqual(evicted, [3], 'the one that held the most');
  assert.equal(honest.hold(10), true, 'they took nothing of it');
  assert.equal(unauthorized.at(-1)?.held, 0);
});

test('no more is released than is held', () => {
  const budget = new MemoryBudget(100);
  const share = budget.open(100, never);
  share.hold(10);
  share.release(-5);
  share.release(40);
  assert.deepEqual([share.held, budget.held], [0, 0]);
});

test('without room the largest holder is evicted, for the sake of smaller ones only', () => {
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

test('a peer that would itself become the largest is refused', () => {
  const budget = new MemoryBudget(100);
  const first = budget.open(100, never);
  const second = budget.open(100, never);
  assert.equal(first.hold(60), true);
  assert.equal(second.hold(60), false);
  assert.equal(second.hold(101), false);
  assert.equal(budget.held, 60);
});

test('a closed share releases what it held, once', () => {
  const budget = new MemoryBudget(100);
  const share = budget.open(100, never);
  share.hold(40);
  share.close();
  share.release(40);
  share.close();
  assert.equal(budget.held, 0);
});

test('pinned shares leave the others a part of their own, in which the largest is evicted', () => {
  const limit = 800;
  const part = limit * heldShareBesidePinned;
  const budget = new MemoryBudget(limit);
  const evicted: string[] = [];
  const pinned = budget.open(limit, never);
  pinned.hold(limit / 2);
  pinned.pin();
  assert.equal(pinned.hold(limit / 2), true);
  assert.equal(pinned.hold(1), false);
  const large = budget.open(limit, () => evicted.push('large'));
  const small = budget.open(limit, () => evicted.push('small'));
  assert.equal(large.hold(part - 10), true);
  assert.equal(large.hold(11), false, 'more than the part');
  assert.equal(small.hold(20), true);
  assert.deepEqual(evicted, ['large']);
  assert.deepEqual([budget.held, budget.free], [limit + 20, 0]);
  pinned.close();
  assert.equal(small.hold(limit - 19), false, 'with nothing pinned the limit is for all');
  assert.equal(small.hold(limit - 20), true);
});

test('pinned and other shares are not refused as long as the others hold little', () => {
  const limit = 800;
  const budget = new MemoryBudget(limit);
  const other = budget.open(limit, never);
  assert.equal(other.hold(limit * heldShareBesidePinned), true);
  const pinned = budget.open(limit, never);
  pinned.pin();
  assert.equal(pinned.hold(limit - other.held), true);
  // A smaller share is refused nevertheless, since the other holds no more than its part.
  const small = budget.open(limit, never);
  small.pin();
  assert.equal(small.hold(1), false);
  assert.equal(other.hold(1), false, 'it has its part');
  pinned.release(limit / 2);
  assert.equal(other.hold(limit / 2), true);
});

test('a closed share may leave a rest behind, which counts in the same pool', () => {
  const budget = new MemoryBudget(800);
  const evicted: string[] = [];
  const authorized = budget.open(800, never);
  authorized.hold(500);
  const rest = authorized.leave(300, () => evicted.push('rest'));
  assert.deepEqual([authorized.held, rest.held, budget.free], [0, 300, 500]);
  assert.equal(authorized.hold(1), false);
  assert.equal(budget.open(800, never).hold(600), false, 'it is the largest itself');
  assert.equal(budget.open(800, never).hold(250), true);
  assert.equal(budget.open(800, never).hold(290), true);
  assert.deepEqual([evicted, rest.held], [['rest'], 0]);
  const one = budget.openUnauthorized(50, never);
  one.hold(40);
  one.leave(30, never);
  assert.deepEqual([budget.held, budget.free], [570, 260]);
});
