import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../../local/server.ts';

test('a large body arrives and returns unchanged', async (t) => {
  const app = {
    fetch: async (request: Request) => new Response(await request.arrayBuffer()),
  };
  const server = await startServer({ app, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const body = new Uint8Array(20 * 1024 * 1024).fill(7);

  const response = await fetch(server.url, { method: 'POST', body });

  assert.deepEqual(new Uint8Array(await response.arrayBuffer()), body);
});

test('closing lets the request under way finish and waits for no idle connection', async () => {
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
  const server = await startServer({ app, host: '127.0.0.1', port: 0 });
  const response = fetch(server.url);
  await hasArrived;

  const closed = server.close();
  answer(new Response('done'));

  assert.equal(await (await response).text(), 'done');
  await closed;
  await assert.rejects(fetch(server.url));
});

test('an address that this machine does not have is told', async () => {
  const app = { fetch: () => new Response() };
  await assert.rejects(startServer({ app, host: '192.0.2.1', port: 0 }), {
    name: 'StartupError',
    message: 'This machine has no address 192.0.2.1: choose another with --host.',
  });
});
