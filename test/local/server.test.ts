import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { test } from 'node:test';
import { startServer } from '../../local/server.ts';
import { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';

const memory = new MemoryBudget(1e9);

test('a large body arrives and returns unchanged', async (t) => {
  const app = {
    fetch: async (request: Request) => new Response(await request.arrayBuffer()),
  };
  const server = await startServer({ app, memory, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const body = new Uint8Array(20 * 1024 * 1024).fill(7);

  const response = await fetch(server.url, { method: 'POST', body });

  assert.deepEqual(new Uint8Array(await response.arrayBuffer()), body);
});

test('a connection stays usable after a body that the app did not read to its end', async (t) => {
  const app = {
    fetch: async ({ body }: Request) => {
      for await (const _ of body ?? []) return new Response('enough');
      return new Response('nothing');
    },
  };
  const server = await startServer({ app, memory, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const post = (body: Buffer) =>
    new Promise<{ text: string; isReused: boolean }>((resolve, reject) => {
      const options = { method: 'POST', agent };
      const sent = request(server.url, options, async (response) => {
        const text = Buffer.concat(await response.toArray()).toString();
        resolve({ text, isReused: sent.reusedSocket });
      });
      sent.on('error', reject).end(body);
    });

  assert.deepEqual(await post(Buffer.alloc(1024 * 1024)), { text: 'enough', isReused: false });

  assert.deepEqual(await post(Buffer.alloc(1)), { text: 'enough', isReused: true });
});

test('close lets requests finish and does not wait for idle connections', async () => {
  let answer = (_: Response) => {};
  let arrived = () => {};
  const hasArrived = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const app = {
    fetch: () =>
      new Promise<Response>((resolve) => {
        answer = resolve;
        arrived();
      }),
  };
  const server = await startServer({ app, memory, host: '127.0.0.1', port: 0 });
  const response = fetch(server.url);
  await hasArrived;

  const closed = server.close();
  answer(new Response('done'));

  assert.equal(await (await response).text(), 'done');
  await closed;
  await assert.rejects(fetch(server.url));
});

test('an address that this machine does not have gives a UsageError', async () => {
  const app = { fetch: () => new Response() };
  await assert.rejects(startServer({ app, memory, host: '192.0.2.1', port: 0 }), {
    name: 'UsageError',
    message: 'This machine has no address 192.0.2.1: choose another with --host.',
  });
});

test('the address of a server names a host at which it answers', async (t) => {
  const app = { fetch: () => new Response('here') };
  const names = {
    '127.0.0.1': 'localhost',
    '0.0.0.0': 'localhost',
    '::1': '[::1]',
    '::': 'localhost',
  };
  for (const [host, name] of Object.entries(names)) {
    const server = await startServer({ app, memory, host, port: 0 }).catch((error: unknown) => {
      // A machine may have no IPv6.
      if (host.includes(':') && (error as Error).name === 'UsageError') return undefined;
      throw error;
    });
    if (server === undefined) continue;
    t.after(() => server.close());
    assert.equal(server.url, `http://${name}:${server.port}`);
    assert.equal(await (await fetch(server.url)).text(), 'here');
  }
});
