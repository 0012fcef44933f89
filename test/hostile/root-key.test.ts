import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cacheRootKeys } from '../../shared/auth/root-key.ts';
import { AgeClock } from '../../shared/domain/age.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { ManualClock } from '../support/manual-clock.ts';

const { readAgainMs, keptMs, retryMs, changes } = BUDGETS.rootKey;

/** A secret that can be taken away, and the key that a process remembers of it. */
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
  /** What becomes of a token that neither key has signed: the primary key that was found instead. */
  const tryInVain = async () => (await keys.changedFrom(await keys.current()))?.primary;
  const passTime = (ms: number) => {
    wall.advance({ ms });
    monotonic.ms += ms;
  };
  const untilReads = async (count: number) => {
    while (secret.reads < count) await Promise.resolve();
  };
  return { wall, monotonic, passTime, secret, faults, rootKey, tryInVain, untilReads };
}

const BUSY = { code: 'ServiceBusy', message: /cannot read the key that tokens are checked with/ };

test('row 21: a root key that cannot be read again is good for an hour after it was last read, and no longer', async () => {
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

test('row 21: the hour passes by either clock: a frozen process does not keep a key longer', async () => {
  for (const clock of ['wall', 'monotonic'] as const) {
    const { wall, monotonic, secret, rootKey } = startReader();
    await rootKey();
    secret.key = undefined;
    if (clock === 'wall') wall.advance({ ms: keptMs });
    else monotonic.ms += keptMs;
    await assert.rejects(rootKey(), BUSY, clock);
  }
});

test('row 21: a wall clock that was set back makes the key too old, not young', async () => {
  const { wall, secret, rootKey } = startReader();
  await rootKey();
  secret.key = undefined;
  wall.advance({ seconds: -1 });
  await assert.rejects(rootKey(), BUSY);
});

test('row 21: requests without a usable key do not each ask for the secret, nor write a fault each', async () => {
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

test('row 21: reads that fail while the key is good are told to the log each time', async () => {
  const { wall, secret, faults, rootKey } = startReader();
  await rootKey();
  secret.key = undefined;
  for (let minutes = 5; minutes < 60; minutes += 5) {
    wall.advance({ ms: readAgainMs });
    assert.equal(await rootKey(), 'first');
  }
  assert.equal(faults.length, 11);
});

test('a stranger with bad signatures has the secret read as often as the limit allows, and no more', async () => {
  const { passTime, secret, rootKey, tryInVain } = startReader();
  await rootKey();
  for (let token = 0; token < 1000; token++) assert.equal(await tryInVain(), undefined);
  assert.equal(secret.reads, 1 + changes.burst);
  const everyMs = 1000 / changes.perSecond;
  for (let round = 1; round <= 10; round++) {
    passTime(everyMs);
    for (let token = 0; token < 100; token++) assert.equal(await tryInVain(), undefined);
    assert.equal(secret.reads, 1 + changes.burst + round);
  }
});

test('bad signatures that come together share one read', async () => {
  const { secret, rootKey, tryInVain } = startReader();
  await rootKey();
  secret.key = 'second';
  const found = await Promise.all(Array.from({ length: 1000 }, tryInVain));
  assert.deepEqual(new Set(found), new Set(['second']));
  assert.equal(secret.reads, 2);
});

test('a stranger whose read hangs holds up nobody whose key is known', async () => {
  const { passTime, secret, rootKey, tryInVain, untilReads } = startReader();
  await rootKey();
  let answer = () => {};
  secret.answering = new Promise((resolve) => {
    answer = resolve;
  });
  const waiting = tryInVain();
  await untilReads(2);
  passTime(readAgainMs - 1);
  assert.equal(await rootKey(), 'first');
  answer();
  assert.equal(await waiting, undefined);
});

test('a read that was answered late does not bring an older key back', async () => {
  const { passTime, secret, rootKey, tryInVain, untilReads } = startReader();
  await rootKey();
  let answer = () => {};
  secret.answering = new Promise((resolve) => {
    answer = resolve;
  });
  const early = tryInVain();
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

test('a secret that cannot be read leaves the last keys good, however many tokens are tried in vain', async () => {
  const { secret, faults, rootKey, tryInVain } = startReader();
  await rootKey();
  secret.key = undefined;
  for (let token = 0; token < 100; token++) assert.equal(await tryInVain(), undefined);
  assert.equal(await rootKey(), 'first');
  assert.equal(faults.length, changes.burst);
});
