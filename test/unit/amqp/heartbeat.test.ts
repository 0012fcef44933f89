import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connection } from '../../../amqp/endpoint/connection.ts';
import { encodeFrame, protocolHeader } from '../../../amqp/wire/frames.ts';
import { writePerformative } from '../../../amqp/wire/performatives.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { connectionOptions } from '../../support/amqp-peer.ts';

/** The idle timeout of a load balancer with TLS, after which it silently drops a connection. It is fixed. */
const FORGOTTEN_MS = 350_000;
const STEP_MS = 10_000;

test('a peer without an idle timeout gets heartbeats before a load balancer drops the connection', async (t) => {
  let now = 0;
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  t.mock.method(performance, 'now', () => now);
  const writtenAt: number[] = [];
  const transport = {
    backlog: 0,
    write: () => void writtenAt.push(now),
    end: () => {},
    pause: () => {},
    resume: () => {},
    destroy: () => assert.fail('It is not silent for too long.'),
  };
  const options = connectionOptions('own', new MemoryBudget(1e9));
  const connection = new Connection(transport, options, () => ({
    mechanisms: [],
    authenticate: () => Promise.resolve(true),
    opened: () => {},
    incoming: () => {},
    outgoing: () => {},
    closed: () => {},
    failed: () => {},
  }));
  connection.authorize();
  connection.input(protocolHeader('amqp'));
  connection.input(encodeFrame('amqp', 0, writePerformative({ kind: 'open', containerId: 'own' })));
  for (; now < FORGOTTEN_MS; now += STEP_MS) {
    await new Promise(setImmediate);
    t.mock.timers.tick(STEP_MS);
  }
  connection.transportClosed();
  const gaps = writtenAt.slice(1).map((at, i) => at - (writtenAt[i] ?? 0));
  assert.ok(gaps.length >= 4, String(writtenAt));
  assert.ok(Math.max(...gaps) <= FORGOTTEN_MS / 4, String(gaps));
});
