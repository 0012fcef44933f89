import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { startLocalNamespaces } from './local-namespaces.ts';

/** One more than Node lets listen to one thing without a warning. */
const MANY = 11;

test('many consumers that work at the same time print no warning of Node', async (t) => {
  const warnings: string[] = [];
  const listen = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
  process.on('warning', listen);
  t.after(() => process.off('warning', listen));
  const held: (() => void)[] = [];
  const target = createServer((request, response) => {
    request.resume();
    held.push(() => response.end());
    if (held.length === MANY) for (const answer of held) answer();
  });
  await once(target.listen(0, '127.0.0.1'), 'listening');
  t.after(() => target.close());
  const { port } = target.address() as AddressInfo;
  const http = (await startLocalNamespaces({ t })).fresh();
  const queues = Array.from({ length: MANY }, (_, i) => `q${i}`);
  const consumer = { body: JSON.stringify({ target: `http://127.0.0.1:${port}/` }) };
  for (const queue of queues) {
    await http.createQueue(queue);
    const headers = { 'Content-Type': 'application/json' };
    const put = await http.request('PUT', `${queue}/consumers/worker`, { ...consumer, headers });
    assert.equal(put.status, 201, await put.text());
    await http.send(queue, 'x');
  }
  // All work now; a warning comes in a later turn.
  while (held.length < MANY) await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});
