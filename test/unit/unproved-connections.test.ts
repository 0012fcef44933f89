import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { UnprovedConnections } from '../../server/unproved-connections.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';

const { otherConnectionsBeforeRight } = BUDGETS.process;

test('of connections without a right the oldest makes room; those with one stay', async () => {
  const connections = new UnprovedConnections();
  const [proved, oldest, ended] = [new PassThrough(), new PassThrough(), new PassThrough()];
  for (const socket of [proved, oldest, ended]) connections.add(socket);
  connections.delete(proved);
  ended.destroy();
  await once(ended, 'close');
  const others = Array.from({ length: otherConnectionsBeforeRight }, () => new PassThrough());
  for (const socket of others.slice(1)) connections.add(socket);
  assert.ok(!oldest.destroyed);
  const [last = new PassThrough()] = others;
  connections.add(last);
  assert.ok(oldest.destroyed);
  assert.ok(![proved, ...others].some(({ destroyed }) => destroyed));
});
