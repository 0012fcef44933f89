import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';
import { HeaderWatch } from '../../../shared/storage/hints/header-watch.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

const READ_MS = 2000;

/** Headers that a test changes. */
function start() {
  const scheduler = new ManualScheduler();
  const versions = new Map<string, string>();
  const reads: (readonly string[])[] = [];
  const faults: unknown[] = [];
  const state = { error: undefined as Error | undefined };
  const watch = new HeaderWatch({
    scheduler,
    read: async (names) => {
      reads.push(names);
      if (state.error !== undefined) throw state.error;
      return versions;
    },
    background: (work) => void work().catch((error) => faults.push(error)),
  });
  return { scheduler, versions, reads, faults, state, watch };
}

test('a listener hears each change of its header, and not of its first read', async () => {
  const { scheduler, versions, watch } = start();
  let news = 0;
  versions.set('a', '1').set('b', '1');
  const watched = watch.watch(['a'], () => news++);
  assert.equal(watched?.unchangedSince, Number.POSITIVE_INFINITY);
  await scheduler.pass(READ_MS);
  assert.deepEqual([news, watched?.unchangedSince], [0, READ_MS]);
  versions.set('b', '2');
  await scheduler.pass(READ_MS);
  assert.deepEqual([news, watched?.unchangedSince], [0, READ_MS]);
  versions.set('a', '2');
  await scheduler.pass(READ_MS);
  assert.deepEqual([news, watched?.unchangedSince], [1, 3 * READ_MS]);
  versions.delete('a');
  await scheduler.pass(READ_MS);
  assert.equal(news, 2);
});

test('all headers are read together, a hundred in a request, and none once nobody listens', async () => {
  const { scheduler, reads, watch } = start();
  const names = Array.from({ length: 250 }, (_, i) => `h${i}`);
  const many = watch.watch(names, () => {});
  const again = watch.watch(['h0'], () => {});
  await scheduler.pass(READ_MS);
  assert.deepEqual(
    reads.map(({ length }) => length),
    [100, 100, 50],
  );
  many?.end();
  await scheduler.pass(READ_MS);
  assert.deepEqual(reads.slice(3), [['h0']]);
  again?.end();
  await scheduler.pass(10 * READ_MS);
  assert.equal(reads.length, 4);
});

test('a process watches 10,000 headers at most', () => {
  const { watch } = start();
  const names = Array.from({ length: 10_000 }, (_, i) => `h${i}`);
  assert.ok(watch.watch(names, () => {}));
  assert.equal(
    watch.watch(['one more'], () => {}),
    undefined,
  );
  assert.ok(watch.watch(['h7'], () => {}));
});

test('a header that cannot be read is news once, and unknown until it was read again', async () => {
  const { scheduler, versions, faults, state, watch } = start();
  let news = 0;
  versions.set('a', '1');
  const watched = watch.watch(['a'], () => news++);
  await scheduler.pass(READ_MS);
  state.error = serviceBusy('The database is busy.');
  await scheduler.pass(3 * READ_MS);
  assert.deepEqual([news, watched?.unchangedSince], [1, Number.POSITIVE_INFINITY]);
  assert.deepEqual(faults, []);
  state.error = undefined;
  await scheduler.pass(READ_MS);
  assert.deepEqual([news, watched?.unchangedSince], [1, 5 * READ_MS]);
});

test('a fault of a read is reported, and the watch goes on', async () => {
  const { scheduler, reads, faults, state, watch } = start();
  const fault = new Error('A fault.');
  state.error = fault;
  watch.watch(['a'], () => {});
  await scheduler.pass(2 * READ_MS);
  assert.deepEqual([reads.length, faults], [2, [fault, fault]]);
});
