import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkUnderWay } from '../../../amqp/receiving/work-under-way.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { allocatedBytes } from '../../support/allocated-bytes.ts';

const QUEUE = parseEntityPath('q');
/** A connection may have ten times as many links. */
const COUNT = 2000;
/** What one that waits may take, bytes. */
const WAITER_BYTES = 4096;

test('what waits for work takes the same memory, however much work is under way', async () => {
  const work = new WorkUnderWay();
  for (let i = 0; i < COUNT; i++) work.add(QUEUE, new Promise(() => {}));
  const bytes = await allocatedBytes(() => {
    for (let i = 0; i < COUNT; i++) void work.whenIdle(QUEUE);
  });
  assert.ok(bytes <= COUNT * WAITER_BYTES, `${Math.round(bytes / COUNT)} bytes for each`);
});
