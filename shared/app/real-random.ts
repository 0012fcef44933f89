import { randomFillSync } from 'node:crypto';
import { assert } from '../domain/assert.ts';
import type { RandomSource } from '../domain/clock.ts';

const POOL_BYTES = 4096;

/**
 * Hands out bytes of a pool, each once; `fill` fills it with random bytes. A draw from the process's generator takes
 * microseconds, however few bytes it is for, and a request needs a few bytes several times. Up to 4096 bytes at once.
 */
export function pooledRandom(fill: (pool: Uint8Array) => void): RandomSource {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return {
    bytes(count) {
      assert(count <= POOL_BYTES, 'no caller needs more random bytes at once');
      if (used + count > POOL_BYTES) {
        fill(pool);
        used = 0;
      }
      used += count;
      return pool.slice(used - count, used);
    },
  };
}

/** The random bytes of this process. No other file of `shared`, `lambdas` and `amqp` makes any. */
export const realRandom: RandomSource = pooledRandom((pool) => randomFillSync(pool));
