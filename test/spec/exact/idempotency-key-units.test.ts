import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startQueue } from '../queues/queue.ts';

test('a key costs one read unit and three write units more; a repetition costs one read unit', async (t) => {
  const broker = await startQueue(t);
  await broker.send('q', 'warm');
  const plain = await broker.units(() => broker.send('q', 'a'));
  const keyed = await broker.units(() => broker.send('q', 'a', {}, { 'Idempotency-Key': 'key' }));
  const again = await broker.units(() => broker.send('q', 'a', {}, { 'Idempotency-Key': 'key' }));
  t.diagnostic(JSON.stringify({ plain, keyed, again }));
  assert.equal(keyed.write - plain.write, 3);
  assert.equal(keyed.read - plain.read, 1);
  assert.deepEqual([again.read, again.write], [1, 0]);
});
