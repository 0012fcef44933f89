import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressGroup, RateLimit } from '../../../shared/domain/budgets/rate-limit.ts';

const RATE = { perSecond: 10, burst: 3 };

/** How many of `tries` attempts are allowed at one instant. */
function granted(limit: RateLimit, key: string, now: number, tries = 100): number {
  return Array.from({ length: tries }, () => limit.take(key, now)).filter(Boolean).length;
}

test('a burst is allowed at once, then the rate applies', () => {
  const limit = new RateLimit(RATE, 100);
  assert.equal(granted(limit, 'a', 0), 3);
  assert.equal(granted(limit, 'a', 99), 0);
  assert.equal(granted(limit, 'a', 100), 1);
  assert.equal(granted(limit, 'a', 300), 2);
  assert.equal(granted(limit, 'a', 1_000_000), 3);
});

test('refused attempts do not delay the next allowed one', () => {
  const limit = new RateLimit(RATE, 100);
  let count = 0;
  for (let now = 0; now < 10_000; now++) count += granted(limit, 'a', now, 5);
  assert.ok(count >= 101 && count <= 103, `${count} in ten seconds`);
});

test('one key does not use up the tokens of another', () => {
  const limit = new RateLimit(RATE, 100);
  assert.equal(granted(limit, 'a', 0), 3);
  assert.equal(granted(limit, 'b', 0), 3);
});

test('a refund returns a token, up to the burst', () => {
  const limit = new RateLimit(RATE, 100);
  assert.equal(granted(limit, 'a', 0), 3);
  limit.refund('a', 0);
  assert.equal(granted(limit, 'a', 0), 1);
  for (let i = 0; i < 9; i++) limit.refund('a', 0);
  assert.equal(granted(limit, 'a', 0), 3);
});

test('a cost above the remaining tokens leaves a debt', () => {
  const limit = new RateLimit(RATE, 100);
  assert.equal(limit.take('a', 0, 13), true);
  assert.equal(limit.take('a', 1000), false);
  assert.equal(limit.take('a', 1100), true);
});

test('the number of buckets is bounded; a recently used one stays', () => {
  const limit = new RateLimit(RATE, 100);
  assert.equal(granted(limit, 'busy', 0), 3);
  for (let index = 0; index < 10_000; index++) {
    limit.take(`stranger ${index}`, 0);
    limit.take('busy', 0);
  }
  assert.ok(limit.size <= 100, `${limit.size} buckets`);
  assert.equal(granted(limit, 'busy', 0), 0);
});

test('IPv6 addresses of one customer share a key', () => {
  assert.equal(addressGroup('192.0.2.7'), '192.0.2.7');
  assert.equal(addressGroup('2001:db8:1:2:3:4:5:6'), addressGroup('2001:db8:1:2:ffff:0:0:1'));
  assert.notEqual(addressGroup('2001:db8:1:2:3:4:5:6'), addressGroup('2001:db8:1:3:3:4:5:6'));
});
