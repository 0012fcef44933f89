import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { httpCall } from '../../../client/http-call.ts';

/** An answer fills the memory of a client only up to a limit. */

const BYTES_MAX = 1000;

test('an endless answer is read up to its limit, and its connection is closed', async (t) => {
  let closed = () => {};
  const closing = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const server = createServer((_, response) => {
    response.on('close', closed);
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(BYTES_MAX)));
    };
    response.on('drain', more);
    more();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const limits = { timeoutMs: 5_000, bytesMax: BYTES_MAX };
  await assert.rejects(httpCall({ method: 'GET', url, headers: {}, ...limits }), {
    code: 'EMSGSIZE',
  });
  await closing;
});
