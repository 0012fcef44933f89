import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Connection } from '../../amqp/endpoint/connection.ts';
import { encodeFrame, protocolHeader } from '../../amqp/wire/frames.ts';
import { writePerformative } from '../../amqp/wire/write-performative.ts';
import { realScheduler } from '../../lambdas/http/real-scheduler.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { MemoryBudget } from '../../shared/domain/memory-budget.ts';

const ignore = () => {};
const HANDLER = {
  mechanisms: [],
  authenticate: async () => false,
  opened: ignore,
  incoming: ignore,
  outgoing: ignore,
  closed: ignore,
  failed: ignore,
};

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A connection whose peer wants to hear something this often; tells how often something was written. */
async function opened({ mock }: TestContext, idleTimeOutMs: number) {
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  let now = 0;
  mock.method(performance, 'now', () => now);
  let writes = 0;
  const transport = {
    backlog: 0,
    write: () => writes++,
    end: ignore,
    destroy: ignore,
    pause: ignore,
    resume: ignore,
  };
  const options = { containerId: 'here', scheduler: realScheduler, memory: new MemoryBudget(1e9) };
  const connection = new Connection(transport, options, () => HANDLER);
  const open = { kind: 'open', containerId: 'there', idleTimeOutMs } as const;
  connection.input(protocolHeader('amqp'));
  connection.input(encodeFrame('amqp', 0, writePerformative(open)));
  await turn();
  const before = writes;
  return async (ms: number) => {
    now += ms;
    mock.timers.tick(ms);
    await turn();
    return writes - before;
  };
}

test('a peer that names no time to hear something in is not written to without need', async (t) => {
  const written = await opened(t, 0);
  assert.equal(await written(1000), 0);
});

test('a peer hears something before its time is over', async (t) => {
  const written = await opened(t, 900);
  assert.ok((await written(1000)) > 0);
});

test('a peer that goes on after the close is cut off', (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  let destroyed = 0;
  const transport = {
    backlog: 0,
    write: ignore,
    end: ignore,
    destroy: () => destroyed++,
    pause: ignore,
    resume: ignore,
  };
  const options = { containerId: 'here', scheduler: realScheduler, memory: new MemoryBudget(1e9) };
  const connection = new Connection(transport, options, () => HANDLER);
  connection.input(Buffer.from('no AMQP at all'));
  const { ignoredBytes } = BUDGETS.connection;
  connection.input(Buffer.alloc(ignoredBytes));
  assert.equal(destroyed, 0);
  connection.input(Buffer.alloc(1));
  assert.equal(destroyed, 1);
});
