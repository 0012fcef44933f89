import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Settlements } from '../../../amqp/receiving/settlements.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { allocatedBytes } from '../../support/allocated-bytes.ts';

const QUEUE = parseEntityPath('q');
/** A connection may have ten times as many links. */
const COUNT = 2000;
/** What one that waits may take, bytes. */
const WAITER_BYTES = 4096;

test('what waits for settlements takes the same memory, however many are under way', async () => {
  const settlements = new Settlements();
  for (let i = 0; i < COUNT; i++) settlements.add(QUEUE, new Promise(() => {}));
  const bytes = await allocatedBytes(() => {
    for (let i = 0; i < COUNT; i++) void settlements.whenIdle(QUEUE);
  });
  assert.ok(bytes <= COUNT * WAITER_BYTES, `${Math.round(bytes / COUNT)} bytes for each`);
});
