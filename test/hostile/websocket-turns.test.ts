import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import type { Transport } from '../../amqp/endpoint/transport.ts';
import type { AmqpServer } from '../../amqp/service/amqp-server.ts';
import { serveWebSockets } from '../../server/amqp-websocket.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { KB } from '../../shared/domain/units.ts';
import { GatewayFixture, turns } from '../support/amqp-peer.ts';

/** Row 12: one chunk of a WebSocket may hold ten thousand messages, which take long to parse. */

const { turnBytes } = BUDGETS.webSocket;
const { turnMs } = BUDGETS.connection.unauthorized;
const CHUNK_BYTES = 64 * KB;
const MESSAGE = 0x82;
const PONG = 0x8a;
const UNKNOWN = 0x8f;

/** A short frame, masked with zeros, since frames of clients must be masked. */
const frameOf = (first: number, payload: readonly number[] = []) =>
  Buffer.of(first, 0x80 | payload.length, 0, 0, 0, 0, ...payload);

const manyOf = (frame: Buffer) =>
  Buffer.concat(Array<Buffer>(Math.floor(CHUNK_BYTES / frame.length)).fill(frame));

/** A socket; the test pushes the bytes of the peer into it. */
class FakeSocket extends Duplex {
  /** Whether the peer has ended its side; takes effect once all earlier bytes are read. */
  hasEnd = false;

  override _read(): void {
    if (this.hasEnd) this.push(null);
  }

  override _write(_: unknown, __: unknown, written: () => void): void {
    written();
  }
}

function webSocket(gateway: Pick<AmqpServer, 'accept'>, t: TestContext): FakeSocket {
  const server = createServer();
  serveWebSockets(server, { amqp: gateway, admission: undefined, serveHttp: () => {} });
  const socket = new FakeSocket();
  t.after(() => socket.destroy());
  const headers = {
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol': 'AMQPWSB10',
  };
  const request = { method: 'GET', url: '/$servicebus/websocket', headers, socket };
  server.emit('upgrade', request, socket, Buffer.alloc(0));
  return socket;
}

/**
 * Replaces the monotonic clock. `t.mock` would record each call with its stack, which takes ten times as long as the
 * test.
 */
function setClock(t: TestContext, now: () => number): void {
  const { now: before } = performance;
  performance.now = now;
  t.after(() => {
    performance.now = before;
  });
}

/** A gateway that records its input. */
function notes() {
  const noted = {
    inputs: 0,
    isLost: false,
    transport: undefined as Transport | undefined,
    onInput: () => {},
  };
  const connection = {
    limits: { tryHold: () => true, release: () => {} },
    hasTime: () => true,
    input: () => {
      noted.inputs++;
      noted.onInput();
    },
    transportClosed: () => {
      noted.isLost = true;
    },
  };
  const accept = (transport: Transport) => {
    noted.transport = transport;
    return connection;
  };
  return { noted, gateway: { accept } as unknown as Pick<AmqpServer, 'accept'> };
}

for (const [what, frame] of [
  ['empty messages', frameOf(MESSAGE)],
  ['pongs', frameOf(PONG)],
] as const) {
  test(`row 12: unauthorized clients' ${what} are parsed in each turn only within its time limit`, async (t) => {
    const { gateway } = new GatewayFixture(t);
    const sockets = Array.from({ length: 20 }, () => webSocket(gateway, t));
    // A clock that advances a millisecond for each parsed KB.
    let taken = 0;
    setClock(t, () => taken / KB);
    const chunk = manyOf(frame);
    for (const socket of sockets) {
      socket.on('data', ({ length }: Buffer) => {
        taken += length;
      });
      socket.push(chunk);
    }
    await turns(1);
    const total = sockets.length * chunk.length;
    let count = 0;
    for (let before = 0; before < total; count++) {
      assert.ok(taken > before, 'something is parsed in every turn');
      assert.ok(taken - before < turnMs * KB + turnBytes, `${taken - before} bytes in a turn`);
      before = taken;
      await turns(1);
    }
    assert.ok(count <= Math.ceil(total / (turnMs * KB)));
  });
}

test('row 12: input of a paused connection is not parsed until the connection resumes', async (t) => {
  const { noted, gateway } = notes();
  const socket = webSocket(gateway, t);
  await turns();
  const chunk = manyOf(frameOf(MESSAGE, [7]));
  noted.transport?.pause();
  socket.push(chunk);
  await turns();
  assert.equal(noted.inputs, 0);
  noted.transport?.resume();
  await turns();
  assert.equal(noted.inputs, chunk.length / 7);
});

test('row 12: the remaining input of a closed connection is not parsed', async (t) => {
  const { noted, gateway } = notes();
  const socket = webSocket(gateway, t);
  await turns();
  noted.transport?.pause();
  socket.push(manyOf(frameOf(MESSAGE, [7])));
  await turns();
  socket.destroy();
  await turns();
  assert.equal(noted.inputs, 0);
  assert.equal(noted.isLost, true);
});

test('row 12: a peer that breaks the protocol is disconnected even if its connection is paused', async (t) => {
  const { noted, gateway } = notes();
  const socket = webSocket(gateway, t);
  await turns();
  noted.onInput = () => noted.transport?.pause();
  socket.push(Buffer.concat([frameOf(MESSAGE, [7]), frameOf(UNKNOWN), manyOf(frameOf(PONG))]));
  socket.hasEnd = true;
  await turns(20);
  assert.equal(noted.isLost, true);
});
