import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { ProtocolDetector } from '../../../server/protocol-detector.ts';
import { makeCertificate } from '../../../server/tls/make-certificate.ts';
import { UnauthorizedConnections } from '../../../server/unauthorized-connections.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { proxyHeader } from '../../support/proxy-header.ts';
import { mostInOneTurn } from '../../support/turn-counting-server.ts';

/** Row 27: many connections whose first bytes, which tell the protocol, arrive at the same time. */

const PER_TURN = BUDGETS.turnFirstBytes;
const CLIENTS = 10 * PER_TURN;
const HTTP = 'GET / HTTP/1.1\r\n\r\n';

/** A server that records in which turn it looks at the first bytes of each connection. */
async function serve(t: TestContext, { isBehindLoadBalancer = false } = {}) {
  let turn = 0;
  let next = setImmediate(function count() {
    turn++;
    next = setImmediate(count);
  });
  t.after(() => clearImmediate(next));
  const looked: { readonly turn: number }[] = [];
  let wake = () => {};
  const look = () => {
    looked.push({ turn });
    wake();
    return false;
  };
  const certificate = makeCertificate(Date.now());
  let servedGone = 0;
  const serveHttp = (socket: Socket) => {
    if (socket.destroyed) servedGone++;
    socket.destroy();
  };
  const detector = new ProtocolDetector({
    amqp: (socket) => socket.destroy(),
    http: serveHttp,
    certificate: () => certificate,
    firstBytesMs: 10_000,
    admit: isBehindLoadBalancer ? look : undefined,
    unauthorized: new UnauthorizedConnections(),
  });
  let accepted = 0;
  let closed = 0;
  const server = createServer((socket) => {
    accepted++;
    socket.on('error', () => {});
    socket.on('close', () => closed++);
    // The server puts the bytes back before it handles them.
    const unshift = socket.unshift.bind(socket);
    socket.unshift = (...bytes) => {
      look();
      unshift(...bytes);
    };
    detector.serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { port } = address;
  /** Clients whose connections were accepted. */
  const open = async (count: number) => {
    const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').setNoDelay());
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (const socket of sockets) socket.on('error', () => {});
    while (accepted < count) await new Promise((resolve) => setImmediate(resolve));
    return sockets;
  };
  const until = async (count: number) => {
    while (looked.length < count) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const allClosed = async () => {
    while (closed < accepted) await new Promise((resolve) => setImmediate(resolve));
  };
  return { port, open, until, looked, allClosed, servedGone: () => servedGone };
}

/** The first bytes of a TLS client. */
function tlsHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {},
      write: (bytes) => resolve(bytes),
    });
    connectTls({ socket, rejectUnauthorized: false }).on('error', () => {});
  });
}

for (const [what, first, isBehindLoadBalancer] of [
  ['requests over HTTP', HTTP, false],
  ['headers of AMQP', 'AMQP\0\x01\0\0', false],
  ['ClientHellos', await tlsHello(), false],
  ['PROXY headers', proxyHeader('203.0.113.1'), true],
] as const) {
  test(`row 27: of ${what} that arrive together, a few are looked at in each turn`, async (t) => {
    const { open, until, looked } = await serve(t, { isBehindLoadBalancer });
    const sockets = await open(CLIENTS);
    for (const socket of sockets) socket.write(first);
    await until(CLIENTS);
    // Some are looked at when they arrive, others later in the same turn.
    const most = mostInOneTurn(looked);
    assert.ok(most <= 2 * PER_TURN, `${most} in one turn`);
  });
}

test('row 27: connections that are closed when their turn comes are not served', async (t) => {
  const { open, until, looked, allClosed, servedGone } = await serve(t);
  const sockets = await open(CLIENTS);
  for (const socket of sockets) socket.write(HTTP);
  // All have arrived by now, and most of them wait.
  await until(1);
  for (const socket of sockets) socket.resetAndDestroy();
  await allClosed();
  for (let turns = 0; turns < CLIENTS; turns++) await new Promise((r) => setImmediate(r));
  assert.ok(looked.length < CLIENTS, `${looked.length} were looked at`);
  assert.equal(servedGone(), 0);
});

test('row 27: the rest of a ClientHello waits for its turn as well', async (t) => {
  const { open, until, looked } = await serve(t);
  const hello = await tlsHello();
  const sockets = await open(CLIENTS);
  for (const socket of sockets) socket.write(hello.subarray(0, 1));
  for (let i = 0; i < CLIENTS; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(looked.length, 0, 'no handshake begins before the ClientHello is complete');
  for (const socket of sockets) socket.write(hello.subarray(1));
  await until(CLIENTS);
  const most = mostInOneTurn(looked);
  assert.ok(most <= 2 * PER_TURN, `${most} in one turn`);
});

test('row 27: a TLS client is served in whatever pieces its ClientHello arrives', async (t) => {
  const { port } = await serve(t);
  const raw = connect(port, '127.0.0.1').setNoDelay();
  t.after(() => raw.destroy());
  const slow = new Duplex({
    read() {},
    async write(bytes: Buffer, _encoding, written) {
      for (const byte of bytes) {
        raw.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      written();
    },
  });
  raw.on('data', (bytes) => slow.push(bytes));
  raw.on('error', () => {});
  const secure = connectTls({ socket: slow, rejectUnauthorized: false });
  secure.on('error', () => {});
  await once(secure, 'secureConnect');
  const closed = once(raw, 'close');
  secure.write(HTTP);
  await closed;
});

test('row 27: a ClientHello that is divided among records is not answered', async (t) => {
  const { open } = await serve(t);
  const hello = await tlsHello();
  const record = (content: Buffer) =>
    Buffer.concat([hello.subarray(0, 3), Buffer.of(0, content.length), content]);
  const [first, rest] = [hello.subarray(5, 15), hello.subarray(15, 115)];
  const [socket] = await open(1);
  assert.ok(socket);
  socket.on('data', () => assert.fail('it was answered'));
  const closed = once(socket, 'close');
  socket.write(Buffer.concat([record(first), record(rest)]));
  await closed;
});

for (const [group, isServed] of [
  ['X25519', true],
  ['P-256', true],
  ['P-384', true],
  ['ffdhe8192', false],
] as const) {
  test(`row 27: a TLS client with keys of ${group} is ${isServed ? '' : 'not '}served`, async (t) => {
    const { port } = await serve(t);
    const options = { port, host: '127.0.0.1', rejectUnauthorized: false, ecdhCurve: group };
    const socket = connectTls(options);
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    let isConnected = false;
    socket.on('secureConnect', () => {
      isConnected = true;
      socket.write(HTTP);
    });
    await new Promise((resolve) => socket.once('close', resolve));
    assert.equal(isConnected, isServed);
  });
}
