import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startServer } from '../../../local/server.ts';
import { GatheredRequest } from '../../../server/http/gathered-request.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { fakeEntity, findableEntities, startApp } from '../../support/http-fixture.ts';

/** Row 7: the cost of a body does not depend on the sizes of its chunks. */

const CHUNKS = 20_000;
const CHUNK_BYTES = 200;
const entities = findableEntities({
  q: fakeEntity('q', { ...QUEUE_DEFAULTS, maxMessageSizeInKilobytes: 100 * 1024 }),
});

const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const manyChunks = Array.from({ length: CHUNKS }, (_, index) => chunkOf(String(index % 10)));
/** A test that waits for an event that does not come fails after this time. */
const SOON = { timeout: 20_000 };
const HEAD = 'POST / HTTP/1.1\r\nHost: localhost\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const NEXT = 'GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** A server with one app, and a client; `answered` resolves with all answers once they end with a text. */
async function serve(t: TestContext, fetch: (request: Request) => Promise<Response>) {
  const memory = new MemoryBudget(1e9);
  const server = await startServer({ app: { fetch }, memory, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const socket = connect(server.port, '127.0.0.1').setEncoding('latin1');
  t.after(() => socket.destroy());
  let heard = '';
  socket.on('data', (text) => {
    heard += text;
  });
  const answered = async (end: string) => {
    while (!heard.endsWith(end)) await once(socket, 'data');
    return heard;
  };
  return { socket, answered };
}

/** Reads the first pieces of a body, and cancels the rest. */
async function pieces(request: Request, max = Number.POSITIVE_INFINITY): Promise<Buffer[]> {
  const read: Buffer[] = [];
  for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) {
    read.push(Buffer.from(piece));
    if (read.length === max) break;
  }
  return read;
}

test('row 7: chunks of one byte that arrive together reach the app together', SOON, async (t) => {
  let read: readonly Buffer[] = [];
  const { socket, answered } = await serve(t, async (request) => {
    read = await pieces(request);
    return new Response('done');
  });
  socket.write(`${CHUNKED}${manyChunks.join('')}0\r\n\r\n`);
  await answered('done');
  const body = Buffer.concat(read).toString();
  assert.equal(body, Array.from({ length: CHUNKS }, (_, index) => index % 10).join(''));
  assert.ok(read.length < CHUNKS / 100, `${read.length} pieces`);
});

test('row 7: chunks of all sizes reach the app in order', SOON, async (t) => {
  const sizes = [1, 3, 4095, 4096, 4097, 1, 5000, 2, 1, 4096, 1, 20_000, 1, 1];
  const chunks = sizes.map((size, index) => String.fromCharCode(97 + index).repeat(size));
  let read = '';
  const { socket, answered } = await serve(t, async (request) => {
    read = Buffer.concat(await pieces(request)).toString();
    return new Response('done');
  });
  socket.write(`${CHUNKED}${chunks.map(chunkOf).join('')}0\r\n\r\n`);
  await answered('done');
  assert.ok(read === chunks.join(''), `${read.length} bytes`);
});

test('row 7: the arrived part of a body reaches the app before the rest', SOON, async (t) => {
  let tell = (_bytes: number) => {};
  const { socket } = await serve(t, async (request) => {
    let bytes = 0;
    for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += piece.byteLength;
      tell(bytes);
    }
    return new Response('done');
  });
  const come = (all: number) =>
    new Promise<void>((resolve) => {
      tell = (bytes) => {
        if (bytes === all) resolve();
      };
    });
  const first = come(5);
  socket.write(`${CHUNKED}${chunkOf('x').repeat(5)}`);
  await first;
  const second = come(12);
  socket.write(chunkOf('x').repeat(7));
  await second;
});

test('row 7: chunks of one byte take at most twice the memory of their content', async () => {
  const request = new GatheredRequest(new Socket());
  const taken: Buffer[] = [];
  request.on('data', (piece) => taken.push(piece));
  for (let round = 0; round < 10; round++) {
    // Each has its own memory, unlike chunks from the parser, which lie in the bytes of the socket.
    for (let i = 0; i < 2 + round; i++) request.push(Buffer.allocUnsafeSlow(1));
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const memory = taken.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
  const bytes = taken.reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.equal(bytes, 65);
  assert.ok(memory <= 2 * bytes, `${memory} bytes for ${bytes}`);
});

test('row 7: of unread chunks of one byte no more are buffered than of others', () => {
  const request = new GatheredRequest(new Socket());
  let chunks = 1;
  while (chunks < 1_000_000 && request.push(Buffer.from('x'))) chunks++;
  assert.ok(chunks <= 2 * request.readableHighWaterMark, `${chunks} chunks`);
});

test(
  'row 7: after a body of which only the beginning is read, the next request is served',
  SOON,
  async (t) => {
    const { socket, answered } = await serve(t, async (request) => {
      if (request.method === 'GET') return new Response('next');
      await pieces(request, 1);
      return new Response('refused');
    });
    socket.write(`${CHUNKED}${manyChunks.join('')}0\r\n\r\n${NEXT}`);
    assert.match(await answered('next'), /refused.*next$/s);
  },
);

test(
  'row 7: after a body that is cancelled while its reader waits, the next request is served',
  SOON,
  async (t) => {
    const { socket, answered } = await serve(t, async (request) => {
      if (request.method === 'GET') return new Response('next');
      const reader = request.body?.getReader();
      await reader?.read();
      const more = reader?.read();
      socket.write(`${manyChunks.join('')}0\r\n\r\n${NEXT}`);
      await reader?.cancel();
      await more;
      return new Response('refused');
    });
    socket.write(`${CHUNKED}${chunkOf('beginning')}`);
    assert.match(await answered('next'), /refused.*next$/s);
  },
);

test('row 7: after a body that is not read at all, the next request is served', SOON, async (t) => {
  const { socket, answered } = await serve(
    t,
    async ({ method }) => new Response(method === 'GET' ? 'next' : 'refused'),
  );
  const body = 'x'.repeat(300_000);
  socket.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}${NEXT}`);
  assert.match(await answered('next'), /refused.*next$/s);
});

test(
  'a reader that waits for more of a body gets an error when its sender disconnects',
  SOON,
  async (t) => {
    let tell = (_error: unknown) => {};
    const failure = new Promise((resolve) => {
      tell = resolve;
    });
    const { socket } = await serve(t, async (request) => {
      socket.destroy();
      await pieces(request).catch(tell);
      return new Response('done');
    });
    socket.write(`${CHUNKED}${chunkOf('beginning')}`);
    assert.equal(((await failure) as NodeJS.ErrnoException).code, 'ECONNRESET');
  },
);

test('row 7: a long body in small chunks arrives complete', async () => {
  const { call, broker } = startApp({ entities });
  let left = CHUNKS;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (left-- > 0) controller.enqueue(new Uint8Array(CHUNK_BYTES).fill(left % 251));
      else controller.close();
    },
  });
  const init = { body: stream, duplex: 'half' } as RequestInit;
  assert.equal((await call('POST', '/q/messages', init)).status, 201);
  const body = broker.waiting('q')[0]?.message.body;
  assert.equal(body?.byteLength, CHUNKS * CHUNK_BYTES);
  assert.deepEqual([body?.at(0), body?.at(-1)], [(CHUNKS - 1) % 251, 0]);
});
