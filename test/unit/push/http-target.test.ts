import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { httpTargets } from '../../../local/push/http-target.ts';
import type { Batch, Reply } from '../../../shared/push/ports.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';
import { batch, consumer, FACTS, locked, NOW, numbered } from './batches.ts';
import { type Answering, closedAddress, listen } from './http-server.ts';

const pushedTo = (target: string): Batch => ({
  ...numbered(7, 8),
  consumer: consumer({ target, timeoutMs: 2000 }),
});

const targets = (scheduler = new ManualScheduler()) =>
  httpTargets({ scheduler, clock: { now: () => NOW }, origin: FACTS });

async function call(t: TestContext, answer: Answering) {
  const server = await listen(t, answer);
  const reply = await targets().call(pushedTo(`${server.url}/messages?of=orders`));
  return { reply, received: server.received };
}

const errorOf = (reply: Reply): string => ('error' in reply ? reply.error : '');
const COMPLETE: Reply = { kind: 'answered', failures: [] };

const answering =
  (status: number, body = '', headers: Readonly<Record<string, string>> = {}): Answering =>
  (response) => {
    response.writeHead(status, headers).end(body);
  };

test('an address gets the event of a function by POST', async (t) => {
  const { reply, received } = await call(t, answering(200));
  assert.deepEqual(reply, COMPLETE);
  assert.equal(received.length, 1);
  const [request] = received;
  assert.equal(request?.method, 'POST');
  assert.equal(request?.url, '/messages?of=orders');
  assert.equal(request?.headers['content-type'], 'application/json');
  const { Records } = JSON.parse(request?.body ?? '{}');
  assert.deepEqual(
    Records.map(({ messageId }: { messageId: string }) => messageId),
    ['7', '8'],
  );
});

test('every answer of the two hundreds is one', async (t) => {
  for (const status of [200, 202, 204]) {
    assert.deepEqual((await call(t, answering(status))).reply, COMPLETE);
  }
});

test('the failures that an address names fail', async (t) => {
  const { reply } = await call(
    t,
    answering(200, '{"batchItemFailures":[{"itemIdentifier":"8","action":"defer"}]}'),
  );
  assert.deepEqual(reply, {
    kind: 'answered',
    failures: [{ sequenceNumber: 8n, action: { kind: 'defer' } }],
  });
});

test('an answer with failures that is no JSON fails all', async (t) => {
  const { reply } = await call(t, answering(200, '{"batchItemFailures":[{'));
  assert.deepEqual(reply, { kind: 'failed', error: 'The answer is not valid JSON.' });
});

test('429 and 503 pause the consumer', async (t) => {
  for (const status of [429, 503]) {
    const { reply } = await call(t, answering(status, 'x'.repeat(100_000)));
    const error = `The target answered with ${status}.`;
    assert.deepEqual(reply, { kind: 'unavailable', why: 'throttled', error });
  }
});

test('another status fails all, and its body is told in part', async (t) => {
  const { reply } = await call(t, answering(500, `boom ${'ü'.repeat(100_000)}`));
  const body = `boom ${'ü'.repeat(195)}`;
  assert.deepEqual(reply, { kind: 'failed', error: `The target answered with 500: ${body}` });
  const { reply: bare } = await call(t, answering(404));
  assert.deepEqual(bare, { kind: 'failed', error: 'The target answered with 404' });
});

test('a redirect is not followed', async (t) => {
  const elsewhere = await listen(t, answering(200));
  const { reply } = await call(t, answering(307, '', { location: elsewhere.url }));
  const error = 'The target answered with 307, and redirects are not followed';
  assert.deepEqual(reply, { kind: 'failed', error });
  assert.equal(elsewhere.received.length, 0);
});

test('a server that is down is missing, and no delivery counts', async () => {
  const address = await closedAddress();
  for (const target of [address, address.replace('127.0.0.1', 'localhost')]) {
    const reply = await targets().call(pushedTo(target));
    assert.deepEqual(reply, { kind: 'unavailable', why: 'missing', error: errorOf(reply) });
    assert.match(errorOf(reply), /^The target cannot be reached: ECONNREFUSED/);
  }
});

const FORBIDDEN = [
  'http://example.com/',
  'http://10.0.0.1/',
  'http://0.0.0.0/',
  'http://127.0.0.1.example.com/',
  'http://localhost@example.com/',
  'https://localhost/',
  'file:///etc/hosts',
  'arn:aws:lambda:eu-central-1:123456789012:function:mail',
];

test('only addresses of this machine are called', async () => {
  for (const target of FORBIDDEN) {
    const reply = await targets().call(pushedTo(target));
    const error = `${target} is no http:// address of this machine.`;
    assert.deepEqual(reply, { kind: 'unavailable', why: 'forbidden', error });
  }
});

test('every name of this machine leads to it, by either version of IP', async (t) => {
  const server = await listen(t, answering(200));
  for (const name of ['localhost', 'LOCALHOST', 'app.localhost', '127.0.0.1']) {
    const reply = await targets().call(pushedTo(server.url.replace('127.0.0.1', name)));
    assert.deepEqual(reply, COMPLETE, name);
  }
  // Some machines have no IPv6.
  const other = await listen(t, answering(200), '::1').catch(() => undefined);
  if (other === undefined) return;
  for (const name of ['localhost', '[::1]']) {
    const reply = await targets().call(pushedTo(other.url.replace('[::1]', name)));
    assert.deepEqual(reply, COMPLETE, name);
  }
});

test('an event that is too long is not sent', async (t) => {
  const server = await listen(t, answering(200));
  const large = batch([locked({ body: Buffer.alloc(7 * 1024 * 1024, 'a') })]);
  const reply = await targets().call({ ...large, consumer: consumer({ target: server.url }) });
  assert.equal(reply.kind, 'tooLarge');
  assert.equal(server.received.length, 0);
});

test('calls under way are dropped at the end', async (t) => {
  const ending = targets();
  let cut = () => {};
  const server = await listen(t, (response) => {
    response.once('close', cut);
    ending.close();
  });
  await new Promise((resolve) => {
    cut = () => resolve(undefined);
    void ending.call(pushedTo(server.url));
  });
});

/** Answers that never end, each until the timeout. */
const SLOW: Readonly<Record<string, Answering>> = {
  'says nothing': () => undefined,
  'stops after the headers': (response) => {
    response.writeHead(200).write('{');
  },
  'stops in the middle of a refusal': (response) => {
    response.writeHead(500).write('{');
  },
};

for (const [what, answer] of Object.entries(SLOW)) {
  test(`a server that ${what} fails all at the timeout`, async (t) => {
    const server = await listen(t, answer);
    const scheduler = new ManualScheduler();
    const arrived = server.arrival();
    const reply = targets(scheduler).call(pushedTo(server.url));
    await arrived;
    for (let i = 0; i < 20; i++) await scheduler.settled();
    await scheduler.pass(2000);
    const error = 'The target did not answer within 2 seconds.';
    assert.deepEqual(await reply, { kind: 'failed', error });
  });
}

/** More than an answer may have, and what the system keeps for two sockets. */
const ENDLESS_BYTES = 64 * 1024 * 1024;

/** Writes until the other side has closed the connection. */
function writeEndlessly(response: ServerResponse): void {
  const piece = Buffer.alloc(64 * 1024, ' ');
  let written = 0;
  const write = () => {
    while (!response.destroyed && written < ENDLESS_BYTES) {
      written += piece.length;
      if (!response.write(piece)) return;
    }
    response.end();
  };
  response.on('drain', write);
  write();
}

test('an answer without an end is read as far as an answer may go', async (t) => {
  for (const status of [200, 500]) {
    const written = new Promise<number>((resolve) => {
      void call(t, (response) => {
        const { socket } = response;
        response.on('close', () => resolve(socket?.bytesWritten ?? 0));
        response.writeHead(status);
        writeEndlessly(response);
      }).then(({ reply }) => assert.equal(reply.kind, 'failed'));
    });
    assert.ok((await written) < ENDLESS_BYTES / 2);
  }
});

/** Servers below HTTP, by what they do with the socket once the request has begun. */
const BROKEN: Readonly<Record<string, (socket: Socket) => void>> = {
  'closes the connection': (socket) => socket.end(),
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'resets in the middle of the answer': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{', () => socket.resetAndDestroy()),
  'ends in the middle of the answer': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}'),
  'does not speak HTTP': (socket) => socket.write('220 ready\r\n'),
  'has huge headers': (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(1024 * 1024)}\r\n\r\n`),
  'changes the protocol': (socket) =>
    socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  'has a senseless length': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'),
  'has a senseless chunk': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
};

for (const [what, breaking] of Object.entries(BROKEN)) {
  test(`a server that ${what} fails all`, async (t) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => breaking(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const reply = await targets().call(pushedTo(`http://127.0.0.1:${address.port}`));
    assert.equal(reply.kind, 'failed');
    assert.notEqual(errorOf(reply), '');
  });
}
