import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kept } from '../../../explorer/namespace/kept.ts';

test('what is written about the last twenty entities is kept, and the oldest is let go', () => {
  const kept = new Kept<number>();
  for (let i = 0; i < 20; i++) kept.set(`q${i}`, i);
  kept.set('q0', 100);
  kept.set('q20', 20);
  assert.deepEqual([kept.get('q0'), kept.get('q1'), kept.get('q2')], [100, undefined, 2]);
  kept.delete('q2');
  assert.equal(kept.get('q2'), undefined);
});
