import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { httpCall } from '../../../client/http-call.ts';

/** A process that is frozen while a request is under way, as Lambda does after an invocation. */

/** A server on another thread. It counts in shared memory the requests that came, and the answers that left. */
const SERVER = `
const { createServer } = require('node:http');
const { parentPort, workerData } = require('node:worker_threads');
const count = (i) => { Atomics.add(workerData, i, 1); Atomics.notify(workerData, i); };
const server = createServer((incoming, answer) => {
  count(0);
  Atomics.wait(workerData, 2, 0);
  answer.writeHead(201, { Connection: 'close' }).end('answer');
  answer.once('close', () => count(1));
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;
/** Longer than a request takes to get there on a busy machine. */
const TIMEOUT_MS = 2_000;

test('an answer that came while the process was frozen is read, although its time is over', async (t) => {
  const counts = new Int32Array(new SharedArrayBuffer(12));
  const worker = new Worker(SERVER, { eval: true, workerData: counts });
  t.after(() => worker.terminate());
  const [port] = await once(worker, 'message');
  const url = `http://127.0.0.1:${port}/`;
  const begunAt = performance.now();
  const calling = httpCall({
    method: 'POST',
    url,
    headers: {},
    timeoutMs: TIMEOUT_MS,
    bytesMax: 100,
  });
  while (Atomics.load(counts, 0) === 0) await new Promise((resolve) => setImmediate(resolve));
  // Nothing runs here until the answer has left the server, and its time is over.
  Atomics.store(counts, 2, 1);
  Atomics.notify(counts, 2);
  while (performance.now() <= begunAt + TIMEOUT_MS) Atomics.wait(counts, 1, 1, TIMEOUT_MS);
  const { status, text } = await calling;
  assert.deepEqual([status, text], [201, 'answer']);
});
