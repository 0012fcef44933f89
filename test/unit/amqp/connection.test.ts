import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Connection } from '../../../amqp/endpoint/connection.ts';
import type { IncomingLink } from '../../../amqp/endpoint/incoming-link.ts';
import { encodeFrame, protocolHeader } from '../../../amqp/wire/frames.ts';
import { type Performative, writePerformative } from '../../../amqp/wire/performatives.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { connectionOptions } from '../../support/amqp-peer.ts';

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

/** A connection whose peer has this idle timeout; counts the writes. */
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
  const options = connectionOptions('here', new MemoryBudget(1e9));
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

test('a peer without an idle timeout gets few heartbeats', async (t) => {
  const written = await opened(t, 0);
  assert.equal(await written(1000), 0);
});

test('a peer gets a heartbeat before its idle timeout', async (t) => {
  const written = await opened(t, 900);
  assert.ok((await written(1000)) > 0);
});

test('a message is handled before the next one, also if it ends a pause', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  // No time passes, so that all work is done in one turn on any machine.
  t.mock.method(performance, 'now', () => 0);
  const transport = {
    ...{ backlog: 0, write: ignore, end: ignore, destroy: ignore },
    ...{ pause: ignore, resume: ignore },
  };
  const order: string[] = [];
  const incoming = (link: IncomingLink) => {
    const take: Parameters<IncomingLink['onDelivery']>[0] = (delivery) => {
      order.push(`begins ${delivery.id}`);
      link.settle([delivery], { kind: 'accepted' });
      order.push(`ends ${delivery.id}`);
    };
    link.onDelivery(take, () => 1e6);
    link.accept();
    link.start();
  };
  // With so little memory, each message alone exceeds what may wait.
  const memory = new MemoryBudget(BUDGETS.connection.incomingBytesMin * 4);
  const options = connectionOptions('here', memory);
  const connection = new Connection(transport, options, () => ({ ...HANDLER, incoming }));
  connection.authorize();
  const frame = (said: Performative, payload?: Uint8Array) =>
    encodeFrame('amqp', 0, writePerformative(said), payload);
  const half = Buffer.alloc(BUDGETS.connection.incomingBytesMin / 2);
  const transfer = { kind: 'transfer', handle: 0, deliveryTag: Buffer.of(1) } as const;
  const windows = { nextOutgoingId: 0, incomingWindow: 9, outgoingWindow: 9 };
  connection.input(
    Buffer.concat([
      protocolHeader('amqp'),
      frame({ kind: 'open', containerId: 'there' }),
      frame({ kind: 'begin', ...windows }),
      frame({ kind: 'attach', name: 'l', handle: 0, role: 'sender' }),
      ...[0, 1].flatMap((deliveryId) => [
        frame({ ...transfer, deliveryId, more: true }, half),
        frame({ ...transfer, deliveryId }, half),
      ]),
    ]),
  );
  await turn();
  assert.deepEqual(order, ['begins 0', 'ends 0', 'begins 1', 'ends 1']);
});

test('a peer that keeps sending after the close is disconnected', (t) => {
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
  const options = connectionOptions('here', new MemoryBudget(1e9));
  const connection = new Connection(transport, options, () => HANDLER);
  connection.input(Buffer.from('no AMQP at all'));
  const { ignoredBytes } = BUDGETS.connection;
  connection.input(Buffer.alloc(ignoredBytes));
  assert.equal(destroyed, 0);
  connection.input(Buffer.alloc(1));
  assert.equal(destroyed, 1);
});

test('a connection without memory ends, and nothing throws', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  let ended = 0;
  const transport = {
    ...{ backlog: 0, write: ignore, end: () => ended++, destroy: ignore },
    ...{ pause: ignore, resume: ignore },
  };
  const options = connectionOptions('here', new MemoryBudget(1));
  new Connection(transport, options, () => HANDLER).input(protocolHeader('amqp'));
  await turn();
  assert.equal(ended, 1);
});
