import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cacheRootKeys } from '../../shared/auth/root-key.ts';
import { AgeClock } from '../../shared/domain/age.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { ManualClock } from '../support/manual-clock.ts';

const { readAgainMs, keptMs, retryMs, changes } = BUDGETS.rootKey;

/** A secret that can become unreadable, and the keys that a process caches of it. */
function startReader() {
  const wall = new ManualClock();
  const monotonic = { ms: 0 };
  const secret: { key: string | undefined; reads: number; answering?: Promise<void> } = {
    key: 'first',
    reads: 0,
  };
  const faults: unknown[] = [];
  const keys = cacheRootKeys({
    read: async () => {
      secret.reads += 1;
      await secret.answering;
      if (secret.key === undefined) throw new Error('The secret may not be read.');
      return { primary: secret.key, secondary: 'before' };
    },
    ages: new AgeClock(wall, () => monotonic.ms),
    reportFault: (error) => faults.push(error),
  });
  const rootKey = async () => (await keys.current()).primary;
  /** Checks a token that neither key has signed; returns the changed primary key, if there is one. */
  const tryBadSignature = async () => (await keys.changedFrom(await keys.current()))?.primary;
  const passTime = (ms: number) => {
    wall.advance({ ms });
    monotonic.ms += ms;
  };
  const untilReads = async (count: number) => {
    while (secret.reads < count) await Promise.resolve();
  };
  return { wall, monotonic, passTime, secret, faults, rootKey, tryBadSignature, untilReads };
}

const BUSY = { code: 'ServiceBusy', message: /cannot read the key that tokens are checked with/ };

test('row 21: a root key that cannot be read again is valid for an hour after its last read, and no longer', async () => {
  const { wall, secret, faults, rootKey } = startReader();
  assert.equal(await rootKey(), 'first');
  secret.key = undefined;
  wall.advance({ ms: readAgainMs });
  assert.equal(await rootKey(), 'first');
  assert.match(String(faults), /The root key cannot be read again/);
  wall.advance({ ms: keptMs - readAgainMs - 1 });
  assert.equal(await rootKey(), 'first');
  wall.advance({ ms: 1 });
  await assert.rejects(rootKey(), BUSY);
  wall.advance({ ms: retryMs });
  secret.key = 'second';
  assert.equal(await rootKey(), 'second');
});

test('row 21: the hour passes by either clock, so a frozen process does not keep a key longer', async () => {
  for (const clock of ['wall', 'monotonic'] as const) {
    const { wall, monotonic, secret, rootKey } = startReader();
    await rootKey();
    secret.key = undefined;
    if (clock === 'wall') wall.advance({ ms: keptMs });
    else monotonic.ms += keptMs;
    await assert.rejects(rootKey(), BUSY, clock);
  }
});

test('row 21: after the wall clock was set back, the cached key counts as too old', async () => {
  const { wall, secret, rootKey } = startReader();
  await rootKey();
  secret.key = undefined;
  wall.advance({ seconds: -1 });
  await assert.rejects(rootKey(), BUSY);
});

test('row 21: requests without a usable key do not each read the secret, nor each report a fault', async () => {
  const { wall, secret, faults, rootKey } = startReader();
  await rootKey();
  secret.key = undefined;
  wall.advance({ ms: keptMs });
  for (let request = 0; request < 100; request++) await assert.rejects(rootKey(), BUSY);
  assert.deepEqual([secret.reads, faults.length], [2, 1]);
  wall.advance({ ms: retryMs - 1 });
  await assert.rejects(rootKey(), BUSY);
  assert.equal(secret.reads, 2);
  wall.advance({ ms: 1 });
  await assert.rejects(rootKey(), BUSY);
  assert.equal(secret.reads, 3);
});

test('row 21: each read that fails while the key is valid is reported in the log', async () => {
  const { wall, secret, faults, rootKey } = startReader();
  await rootKey();
  secret.key = undefined;
  for (let minutes = 5; minutes < 60; minutes += 5) {
    wall.advance({ ms: readAgainMs });
    assert.equal(await rootKey(), 'first');
  }
  assert.equal(faults.length, 11);
});

test('bad signatures cause only as many reads of the secret as the rate limit allows', async () => {
  const { passTime, secret, rootKey, tryBadSignature } = startReader();
  await rootKey();
  for (let token = 0; token < 1000; token++) assert.equal(await tryBadSignature(), undefined);
  assert.equal(secret.reads, 1 + changes.burst);
  const everyMs = 1000 / changes.perSecond;
  for (let round = 1; round <= 10; round++) {
    passTime(everyMs);
    for (let token = 0; token < 100; token++) assert.equal(await tryBadSignature(), undefined);
    assert.equal(secret.reads, 1 + changes.burst + round);
  }
});

test('bad signatures that arrive together share one read', async () => {
  const { secret, rootKey, tryBadSignature } = startReader();
  await rootKey();
  secret.key = 'second';
  const found = await Promise.all(Array.from({ length: 1000 }, tryBadSignature));
  assert.deepEqual(new Set(found), new Set(['second']));
  assert.equal(secret.reads, 2);
});

test('a slow read that a bad signature caused does not delay clients with a cached key', async () => {
  const { passTime, secret, rootKey, tryBadSignature, untilReads } = startReader();
  await rootKey();
  let answer = () => {};
  secret.answering = new Promise((resolve) => {
    answer = resolve;
  });
  const waiting = tryBadSignature();
  await untilReads(2);
  passTime(readAgainMs - 1);
  assert.equal(await rootKey(), 'first');
  answer();
  assert.equal(await waiting, undefined);
});

test('the late result of a read does not replace a newer key', async () => {
  const { passTime, secret, rootKey, tryBadSignature, untilReads } = startReader();
  await rootKey();
  let answer = () => {};
  secret.answering = new Promise((resolve) => {
    answer = resolve;
  });
  const early = tryBadSignature();
  await untilReads(2);
  passTime(readAgainMs);
  secret.answering = Promise.resolve();
  secret.key = 'second';
  assert.equal(await rootKey(), 'second');
  secret.key = 'first';
  answer();
  await early;
  assert.equal(await rootKey(), 'second');
});

test('if the secret cannot be read, the last keys stay valid, however many tokens are refused', async () => {
  const { secret, faults, rootKey, tryBadSignature } = startReader();
  await rootKey();
  secret.key = undefined;
  for (let token = 0; token < 100; token++) assert.equal(await tryBadSignature(), undefined);
  assert.equal(await rootKey(), 'first');
  assert.equal(faults.length, changes.burst);
});
