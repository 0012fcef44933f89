import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedRuns } from '../../../shared/domain/turns/shared-runs.ts';

/** Work that ends when it is told to, and the number of runs that have begun. */
function start() {
  const runs = new SharedRuns<number>();
  const ends: { readonly resolve: (n: number) => void; readonly reject: (e: Error) => void }[] = [];
  const work = () => new Promise<number>((resolve, reject) => ends.push({ resolve, reject }));
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { run: (name: string) => runs.run(name, work), ends, settled };
}

test('calls during a run share the next one', async () => {
  const { run, ends, settled } = start();
  const calls = ['a', 'a', 'a', 'b'].map(run);
  assert.equal(ends.length, 2);
  ends[0]?.resolve(1);
  ends[1]?.resolve(2);
  await settled();
  assert.equal(ends.length, 3);
  const later = run('a');
  ends[2]?.resolve(3);
  await settled();
  ends[3]?.resolve(4);
  assert.deepEqual(await Promise.all([...calls, later]), [1, 3, 3, 2, 4]);
  void run('a');
  assert.equal(ends.length, 5);
});

test('a failure is that of its own calls, and the next run begins all the same', async () => {
  const { run, ends, settled } = start();
  const [first, second, third] = [run('a'), run('a'), run('a')];
  ends[0]?.reject(new Error('first'));
  await assert.rejects(first, /first/);
  await settled();
  ends[1]?.reject(new Error('second'));
  await assert.rejects(second, /second/);
  await assert.rejects(third, /second/);
  const last = run('a');
  ends[2]?.resolve(1);
  assert.equal(await last, 1);
});
