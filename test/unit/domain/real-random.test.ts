import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pooledRandom, realRandom } from '../../../shared/app/real-random.ts';

const POOL_BYTES = 4096;

test('each random byte is handed out once, and filled in again before the next time', () => {
  let fills = 0;
  const random = pooledRandom((pool) => {
    for (let i = 0; i < pool.length; i += 4) {
      pool.set(
        [fills, i >> 16, i >> 8, i].map((part) => part & 0xff),
        i,
      );
    }
    fills++;
  });
  const given = new Set<string>();
  const asked = 3 * (POOL_BYTES / 4);
  for (let i = 0; i < asked; i++) given.add(random.bytes(4).join());
  assert.equal(given.size, asked);
  assert.equal(fills, 3);
  // What is left of a pool is too little, so it is not used.
  random.bytes(POOL_BYTES - 1);
  assert.equal(random.bytes(2)[0], 4);
  assert.equal(fills, 5);
});

test('a caller may change its random bytes, and none shares memory with another', () => {
  const [one, other] = [realRandom.bytes(16), realRandom.bytes(16)];
  const before = Uint8Array.from(other);
  one.fill(0);
  assert.deepEqual(other, before);
  assert.equal(one.buffer.byteLength, 16);
});

test('random bytes of the process differ', () => {
  const drawn = Array.from({ length: 2000 }, () =>
    Buffer.from(realRandom.bytes(16)).toString('hex'),
  );
  assert.equal(new Set(drawn).size, drawn.length);
});
