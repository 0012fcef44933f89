import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameBytes } from '../../../shared/domain/same-bytes.ts';

test('tags are equal if all of their bytes are, and an absent tag equals none', () => {
  const tag = Uint8Array.of(1, 2, 3, 4, 5, 6, 7);
  assert.ok(isSameBytes(Uint8Array.from(tag), tag));
  for (const at of tag.keys()) assert.ok(!isSameBytes(tag.with(at, 0), tag));
  assert.ok(!isSameBytes(tag.subarray(0, 6), tag));
  assert.ok(!isSameBytes(new Uint8Array(), tag));
  assert.ok(!isSameBytes(undefined, tag));
});
