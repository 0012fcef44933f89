import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startServer } from '../../../local/server.ts';
import { noteAuthorized } from '../../../shared/domain/budgets/authorized-requests.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';

const { headerFieldBytes } = BUDGETS.weights;
/** What a request with one field counts in addition to its bytes. */
const UNDER_WAY = headerFieldBytes;

const textOf = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const REQUEST_BYTES = textOf('/0').length;
/** The path of unauthorized requests. */
const UNAUTHORIZED = '/unauthorized';

/** An app whose answers the test releases one by one; lists the unanswered requests. */
function answering() {
  const asked: { readonly path: string; answer(body: string): void }[] = [];
  let wake = () => {};
  const app = {
    fetch: (request: Request) =>
      new Promise<Response>((resolve) => {
        const path = new URL(request.url).pathname;
        if (path !== UNAUTHORIZED) noteAuthorized(request);
        asked.push({ path, answer: (body) => resolve(new Response(body)) });
        wake();
      }),
  };
  const next = async () => {
    while (asked.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const [first] = asked.splice(0, 1);
    assert.ok(first);
    return first;
  };
  return { app, asked, next };
}

async function serve(t: TestContext, memory = new MemoryBudget(1e9)) {
  const { app, asked, next } = answering();
  const server = await startServer({ app, memory, host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const socket = connect(server.port, '127.0.0.1').setEncoding('latin1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  let heard = '';
  socket.on('data', (text) => {
    heard += text;
  });
  const ask = (count: number, path?: string) => {
    socket.write(Array.from({ length: count }, (_, index) => textOf(path ?? `/${index}`)).join(''));
  };
  const until = async (isIt: () => boolean) => {
    while (!isIt()) await new Promise((resolve) => setImmediate(resolve));
  };
  return { asked, next, memory, socket, ask, until, heard: () => heard };
}

test('requests on one connection are handled one after the other', async (t) => {
  const { next, asked, ask, until, heard, memory } = await serve(t);
  ask(5);
  for (let index = 0; index < 5; index++) {
    const one = await next();
    assert.equal(one.path, `/${index}`);
    // All have arrived, and only this one is parsed.
    await until(() => memory.held === (4 - index) * REQUEST_BYTES + UNDER_WAY);
    assert.equal(asked.length, 0);
    one.answer(`answer ${index}.`);
  }
  await until(() => heard().includes('answer 4.'));
  assert.deepEqual(
    heard()
      .match(/answer \d/g)
      ?.map((text) => text.at(-1))
      .join(''),
    '01234',
  );
  await until(() => memory.held === 0);
});

test('any number of requests may be sent at once', async (t) => {
  const { next, ask, until, heard } = await serve(t);
  const count = 2000;
  ask(count);
  for (let index = 0; index < count; index++) (await next()).answer(`answer ${index}.`);
  await until(() => heard().includes(`answer ${count - 1}.`));
});

test('waiting requests do not begin once their connection is closed', async (t) => {
  const { socket, next, asked, ask, memory, until } = await serve(t);
  ask(3);
  const first = await next();
  await until(() => memory.held === 2 * REQUEST_BYTES + UNDER_WAY);
  socket.destroy();
  await until(() => memory.held === 0);
  first.answer('too late');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(asked.length, 0);
});

test('the unread part of an answer counts until the client reads it', async (t) => {
  const { socket, next, ask, memory, until } = await serve(t);
  socket.pause();
  ask(1);
  const bytes = 32 * 1024 * 1024;
  (await next()).answer('x'.repeat(bytes));
  await until(() => memory.held > bytes / 2);
  socket.resume();
  await until(() => memory.held === 0);
});

test('the connection of an unread answer is closed to make room for others', async (t) => {
  const { socket, next, ask, memory, until } = await serve(t, new MemoryBudget(40e6));
  socket.pause();
  ask(1);
  (await next()).answer('x'.repeat(32e6));
  await until(() => memory.held > 20e6);
  const other = memory.open(30e6, () => {});
  assert.ok(other.hold(20e6));
  socket.resume();
  await once(socket, 'close');
});

test('an answer is sent even if there is no room for it', async (t) => {
  const memory = new MemoryBudget(1e5);
  const { next, ask, until, heard } = await serve(t, memory);
  memory.open(1e5, () => assert.fail('it holds less')).hold(1e5);
  ask(1);
  (await next()).answer(`${'x'.repeat(1e6)}end`);
  await until(() => heard().endsWith('end'));
});

test('an answer that an unauthorized client does not read takes no room from authorized clients', async (t) => {
  const { socket, next, ask, memory, until, heard } = await serve(t);
  socket.pause();
  ask(1, UNAUTHORIZED);
  const bytes = 32 * 1024 * 1024;
  (await next()).answer('x'.repeat(bytes));
  await until(() => memory.held > bytes / 2);
  assert.equal(memory.free, memory.limit);
  socket.resume();
  await until(() => memory.held === 0);
  // Once it is authorized, its answers count as those of others.
  await until(() => heard().endsWith('x'));
  socket.pause();
  ask(1);
  (await next()).answer('x'.repeat(bytes));
  await until(() => memory.free < memory.limit - bytes / 2);
  socket.resume();
  await until(() => memory.held === 0);
});

test('an answer that an unauthorized client does not read ends its connection if the room of all such clients is full', async (t) => {
  const memory = new MemoryBudget(40e6);
  const { socket, next, ask, until, heard } = await serve(t, memory);
  let isClosed = false;
  socket.on('close', () => {
    isClosed = true;
  });
  socket.pause();
  ask(1, UNAUTHORIZED);
  (await next()).answer(`${'x'.repeat(32e6)}end`);
  socket.resume();
  await until(() => isClosed || heard().endsWith('end'));
  assert.ok(isClosed);
  await until(() => memory.held === 0);
});
