import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEASE_MS, leaseEndMs } from '../../../shared/app/leases.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import { LeaseCache } from '../../../shared/storage/hints/lease-cache.ts';
import { agesBy } from '../../support/ages.ts';

const LENGTH_MS = LEASE_MS.deployed;

const entity = (epoch: number): Entity => ({
  id: 'e',
  key: 'q',
  name: 'q',
  epoch,
  generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
  createdAt: 0,
  updatedAt: 0,
  description: QUEUE_DEFAULTS,
});

/** A cache over a table whose entity changes at each read, with a clock that the test moves. */
function start() {
  const state = { now: 0, reads: 0 };
  const cache = new LeaseCache<Entity>(
    LENGTH_MS,
    agesBy(() => state.now),
  );
  const read = () => Promise.resolve(entity(++state.reads));
  const epochOf = async () => (await cache.get('q', read))?.epoch;
  return { state, cache, read, epochOf };
}

/** A read that the test resolves or rejects. */
function slowRead() {
  let answer: (found: Entity | undefined) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const promise = new Promise<Entity | undefined>((resolve, reject) => {
    answer = resolve;
    fail = reject;
  });
  return { read: () => promise, answer: (e?: Entity) => answer(e), fail: (e: Error) => fail(e) };
}

test('an entity is read once and then cached until its lease ends', async () => {
  const { state, epochOf } = start();
  assert.equal(await epochOf(), 1);
  state.now = LENGTH_MS - 1;
  assert.equal(await epochOf(), 1);
  state.now = LENGTH_MS;
  assert.equal(await epochOf(), 2);
});

test('the lease begins with the start of the read, however long it takes', async () => {
  const { state, cache, epochOf } = start();
  const slow = slowRead();
  const first = cache.get('q', slow.read);
  state.now = LENGTH_MS - 1;
  slow.answer(entity(77));
  assert.equal((await first)?.epoch, 77);
  assert.equal(await epochOf(), 77);
  state.now = LENGTH_MS;
  assert.equal(await epochOf(), 1);
});

test('concurrent lookups share one read', async () => {
  const { state, epochOf } = start();
  assert.deepEqual(await Promise.all([epochOf(), epochOf(), epochOf()]), [1, 1, 1]);
  assert.equal(state.reads, 1);
});

test('a forgotten entity is read again', async () => {
  const { cache, epochOf } = start();
  await epochOf();
  cache.forget('other');
  assert.equal(await epochOf(), 1);
  cache.forget('q');
  assert.equal(await epochOf(), 2);
});

test('a read during which its entity is forgotten is not cached', async () => {
  const { cache, epochOf } = start();
  const slow = slowRead();
  const first = cache.get('q', slow.read);
  cache.forget('q');
  const second = epochOf();
  slow.answer(entity(77));
  assert.equal((await first)?.epoch, 77);
  assert.equal(await second, 1);
  assert.equal(await epochOf(), 1);
});

test('a missing entity is not cached', async () => {
  const { cache, epochOf } = start();
  assert.equal(await cache.get('q', () => Promise.resolve(undefined)), undefined);
  assert.equal(await epochOf(), 1);
});

test('the late result that an entity is missing does not remove a newer entry', async () => {
  const { cache, epochOf } = start();
  const slow = slowRead();
  const first = cache.get('q', slow.read);
  cache.forget('q');
  assert.equal(await epochOf(), 1);
  slow.answer(undefined);
  assert.equal(await first, undefined);
  assert.equal(await epochOf(), 1);
});

test('a failed read rejects all lookups that share it, and the next lookup reads again', async () => {
  const { cache, epochOf } = start();
  const slow = slowRead();
  const shared = Promise.allSettled([cache.get('q', slow.read), cache.get('q', slow.read)]);
  slow.fail(new Error('no answer'));
  assert.deepEqual(
    (await shared).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(await epochOf(), 1);
});

test('entities with different keys have different entries', async () => {
  const { cache, read } = start();
  const [one, other] = await Promise.all([cache.get('a', read), cache.get('b', read)]);
  assert.deepEqual([one?.epoch, other?.epoch], [1, 2]);
  assert.equal((await cache.get('a', read))?.epoch, 1);
});

test('the size of the cache is bounded, however many entities are looked up', async () => {
  const { state, cache, read } = start();
  for (let i = 0; i < 50_000; i++) await cache.get(`q${i}`, read);
  assert.equal(state.reads, 50_000);
  // The newest is still cached.
  await cache.get('q49999', read);
  assert.equal(state.reads, 50_000);
});

test('a change waits a tenth longer than a lease: 2.2 s in a deployment, 55 ms on a laptop', () => {
  assert.deepEqual([leaseEndMs(LEASE_MS.deployed), leaseEndMs(LEASE_MS.local)], [2200, 55]);
});
