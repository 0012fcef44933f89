import assert from 'node:assert/strict';
import { type ClientRequest, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { startServer } from '../../../local/server.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { countedBody } from '../../support/counted-body.ts';
import { fakeEntity, findableEntities, ROOT_TOKEN, startApp } from '../../support/http-fixture.ts';

/** Row 7: bodies above every limit, and many concurrent bodies. */

const KB = 1024;
const MB = 1024 * KB;
const BATCH = { 'content-type': 'application/vnd.microsoft.servicebus.json' };
/** A test that waits for an event that does not come fails after this time. */
const SOON = { timeout: 20_000 };
const OF_QUEUE = 256 * KB;
const OF_BATCH = 6 * MB + BUDGETS.request.batchExtraBytes;

const entities = findableEntities({
  q: fakeEntity('q'),
  'a/b': fakeEntity('a/b', { ...QUEUE_DEFAULTS, maxMessageSizeInKilobytes: 1024 }),
});

for (const [what, path, headers, limit, status, sentence] of [
  ['a message', '/q/messages', {}, OF_QUEUE, 403, /more than the 262144 bytes that this entity/],
  ['a message', '/a/b/messages', {}, MB, 403, /more than the 1048576 bytes that this entity/],
  ['a batch', '/q/messages', BATCH, OF_BATCH, 403, /The batch is .* more than the 8388608 bytes/],
  [
    'a scheduled batch',
    '/q/messages/$schedule',
    {},
    OF_BATCH,
    403,
    /The batch is .* more than the 8388608/,
  ],
  ['sequence numbers', '/q/messages/$deferred', {}, MB, 400, /the limit is 1048576/],
  ['settlements', '/q/messages/$settle', {}, 14 * MB, 400, /the limit is 14680064/],
  ['a state', '/q/sessions/$state', {}, OF_QUEUE, 400, /the limit is 262144/],
] as const) {
  const method = path.includes('$state') ? 'PUT' : 'POST';
  const query = path.includes('$state')
    ? '?sessionId=s&sessionLock=00000000-0000-4000-8000-00000000005e'
    : '';

  test(`row 7: ${what} to ${path} is read up to ${limit} bytes, and no further`, async () => {
    const memory = new MemoryBudget(1024 * MB);
    const { call } = startApp({ entities, memory });
    const body = countedBody({ piece: 16 * KB });
    const init = { headers, body: body.stream, duplex: 'half' } as RequestInit;
    const response = await call(method, path + query, init);
    assert.equal(response.status, status);
    assert.match(await response.text(), sentence);
    assert.ok(body.read() > limit - 16 * KB && body.read() <= limit + 32 * KB, `${body.read()}`);
    assert.equal(memory.held, 0);
  });

  test(`row 7: ${what} to ${path} with a longer Content-Length is not read at all`, async () => {
    const { call } = startApp({ entities });
    const body = countedBody({ piece: 16 * KB });
    const init = {
      headers: { ...headers, 'content-length': String(limit + 1) },
      body: body.stream,
      duplex: 'half',
    } as RequestInit;
    const response = await call(method, path + query, init);
    assert.equal(response.status, status);
    assert.match(await response.text(), new RegExp(`${limit + 1} bytes long`));
    assert.ok(body.read() <= 16 * KB, `${body.read()} bytes were read`);
  });
}

/** A server of the app over real sockets, with a limit for the bytes of all bodies. */
async function serve(t: TestContext, memoryBytes: number) {
  const memory = new MemoryBudget(memoryBytes);
  const { app, broker } = startApp({ entities, memory });
  const ofServer = new MemoryBudget(1e9);
  const server = await startServer({ app, memory: ofServer, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  return { memory, broker, url: server.url };
}

interface Upload {
  readonly sent: ClientRequest;
  readonly answer: Promise<{ status: number | undefined; headers: object; text: string }>;
}

/** Begins to send a message; `body` is the part that is sent now. */
function upload(url: string, body: Uint8Array, length?: number): Upload {
  const headers = {
    authorization: ROOT_TOKEN,
    ...(length === undefined ? {} : { 'content-length': length }),
  };
  const sent = request(`${url}/a/b/messages`, { method: 'POST', headers });
  const answer = new Promise<Awaited<Upload['answer']>>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      resolve({ status: response.statusCode, headers: response.headers, text });
    });
  });
  sent.write(body);
  return { sent, answer };
}

/** Waits until this many bytes are held. */
async function heldBy(memory: MemoryBudget, bytes: number): Promise<void> {
  while (memory.held < bytes) await new Promise((resolve) => setImmediate(resolve));
}

const { heldPerByte } = BUDGETS.request;

for (const [how, length] of [
  ['announced', 800 * KB],
  ['in chunks', undefined],
] as const) {
  test(
    `row 7: a long body, ${how}, is ended for a short one, and can be sent again`,
    SOON,
    async (t) => {
      const { memory, broker, url } = await serve(t, 500 * KB * heldPerByte);
      const large = upload(url, Buffer.alloc(450 * KB), length);
      await heldBy(memory, 450 * KB * heldPerByte);
      const small = upload(url, Buffer.alloc(100 * KB), 100 * KB);
      small.sent.end();
      assert.equal((await small.answer).status, 201);
      const { status, headers, text } = await large.answer;
      assert.deepEqual([status, Reflect.get(headers, 'retry-after')], [503, '1'], text);
      assert.equal(Reflect.get(headers, 'x-dynabus-retryable'), 'true');
      large.sent.destroy();
      assert.equal(memory.held, 0);
      assert.equal(broker.waiting('a/b').length, 1);
    },
  );
}

test('row 7: an incomplete short body is ended as well', SOON, async (t) => {
  const { memory, url } = await serve(t, 64 * KB * heldPerByte);
  const slow = upload(url, Buffer.alloc(KB), 60 * KB);
  await heldBy(memory, 60 * KB * heldPerByte);
  const quick = upload(url, Buffer.alloc(10 * KB), 10 * KB);
  quick.sent.end();
  assert.equal((await quick.answer).status, 201);
  assert.equal((await slow.answer).status, 503);
  slow.sent.destroy();
  assert.equal(memory.held, 0);
});

test('row 7: a new body is refused for now if no other holds more', SOON, async (t) => {
  const { memory, broker, url } = await serve(t, 500 * KB * heldPerByte);
  const first = upload(url, Buffer.alloc(200 * KB), 210 * KB);
  await heldBy(memory, 200 * KB * heldPerByte);
  const second = upload(url, Buffer.alloc(310 * KB), 310 * KB);
  second.sent.end();
  assert.equal((await second.answer).status, 503);
  first.sent.end(Buffer.alloc(10 * KB));
  assert.equal((await first.answer).status, 201);
  assert.deepEqual([memory.held, broker.waiting('a/b').length], [0, 1]);
});

test('row 7: a body above all memory is refused for good', async (t) => {
  const { memory, url } = await serve(t, 100 * KB);
  const { sent, answer } = upload(url, Buffer.alloc(300 * KB), 300 * KB);
  sent.end();
  const { status, text } = await answer;
  assert.equal(status, 403, text);
  assert.match(text, /longer than the service has memory for/);
  assert.equal(memory.held, 0);
});

test('row 7: a send under way is not ended to make room', SOON, async () => {
  const memory = new MemoryBudget(100 * KB * heldPerByte);
  const { call, broker } = startApp({ entities, memory });
  const send = broker.send.bind(broker);
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    broker.send = async (path, messages) => {
      resolve();
      await finished;
      return await send(path, messages);
    };
  });
  const first = call('POST', '/q/messages', { body: Buffer.alloc(80 * KB) });
  await begun;
  const second = await call('POST', '/q/messages', { body: Buffer.alloc(30 * KB) });
  assert.equal(second.status, 503);
  finish();
  assert.equal((await first).status, 201);
  assert.equal(memory.held, 0);
});

test('row 7: the memory of a client that disconnects is released', SOON, async (t) => {
  const { memory, url } = await serve(t, 10 * MB);
  for (const length of [60 * KB, 800 * KB, undefined]) {
    const { sent, answer } = upload(url, Buffer.alloc(50 * KB), length);
    await heldBy(memory, 50 * KB * heldPerByte);
    sent.destroy();
    await assert.rejects(answer);
    while (memory.held > 0) await new Promise((resolve) => setImmediate(resolve));
  }
});
