import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startServer } from '../../../local/server.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';

/** Row 7: what comes of a body after its request was refused. */

const { discardedBytes, discardedMs } = BUDGETS.request;
/** Turns in which the adapter closes a connection, with some to spare. */
const ROUNDS = 20;
const HEAD = 'HTTP/1.1\r\nHost: localhost\r\n';
/** A test that waits for what does not come fails after this time. */
const SOON = { timeout: 20_000 };
const NEXT = `GET /next ${HEAD}\r\n`;

/**
 * A client that has sent the beginning of a body, and has the answer. Timers of less than `hurryMs` run at once, among
 * them those of the adapter, which would close the connection.
 */
async function refused(t: TestContext, length: number, hurryMs = discardedMs) {
  const fetch = async ({ method }: Request) =>
    new Response(method === 'GET' ? 'served' : 'refused', { status: method === 'GET' ? 200 : 403 });
  const memory = new MemoryBudget(1e9);
  const server = await startServer({ app: { fetch }, memory, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const socket = connect(server.port, '127.0.0.1').setEncoding('latin1');
  t.after(() => socket.destroy());
  let heard = '';
  socket.on('data', (text) => {
    heard += text;
  });
  const untilHeard = async (end: string) => {
    while (!heard.endsWith(end)) await once(socket, 'data');
    heard = '';
  };
  // The connection is one of HTTP from then on.
  socket.write(NEXT);
  await untilHeard('served');
  const { setTimeout: real } = globalThis;
  const fast = (work: () => void, ms = 1) => real(work, ms < hurryMs ? 0 : ms);
  t.mock.method(globalThis, 'setTimeout', fast as typeof setTimeout);
  socket.write(`POST / ${HEAD}Content-Length: ${length}\r\n\r\nbegin`);
  await untilHeard('refused');
  return { socket, untilHeard };
}

/** The time in which all timers that are due have run, and what they have set. */
async function timersRun(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await new Promise((resolve) => setTimeout(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function untilClosed(socket: Socket): Promise<void> {
  // The client may notice it while it writes.
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
}

test(
  'row 7: the rest of a refused body may take its time, and then the next request is served',
  SOON,
  async (t) => {
    const { socket, untilHeard } = await refused(t, 10);
    await timersRun();
    socket.write(`-rest${NEXT}`);
    await untilHeard('served');
  },
);

test('row 7: a connection whose refused body does not end is closed', SOON, async (t) => {
  const { socket } = await refused(t, 10, discardedMs + 1);
  await untilClosed(socket);
});

test('row 7: a connection whose refused body is too long is closed', SOON, async (t) => {
  const { socket } = await refused(t, 2 * discardedBytes);
  const closed = untilClosed(socket);
  const chunk = Buffer.alloc(1024 * 1024);
  let written = 0;
  const more = () => {
    while (!socket.destroyed && socket.write(chunk)) written += chunk.length;
    written += chunk.length;
  };
  socket.on('drain', more);
  more();
  await closed;
  assert.ok(written >= discardedBytes, `${written} bytes`);
});
