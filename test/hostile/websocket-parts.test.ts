import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { protocolHeader } from '../../amqp/wire/frames.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { startNamespace, type TestNamespace } from '../interop/start-namespace.ts';
import { UPGRADE, webSocketFrame } from './search/amqp-bytes.ts';

/** Row 1: the memory of a WebSocket message that does not end. */

const { fragments } = BUDGETS.webSocket;
const { heldBytes } = BUDGETS.connection.unauthorized;
const PONG = Buffer.concat([Buffer.of(0x8a, 0x80 | 125, 0, 0, 0, 0), Buffer.alloc(125)]);
const FIRST_PART = 0x02;
const PART = 0x00;
const LAST_PART = 0x80;

const closeOf = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.once('close', resolve);
  });

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

describe('WebSockets', { timeout: 20_000 }, () => {
  let namespace: TestNamespace;
  let socket: Socket;
  before(async () => {
    namespace = await startNamespace();
  });
  after(async () => {
    await namespace.stop();
    assert.deepEqual(namespace.faults, []);
  });
  beforeEach(async () => {
    socket?.destroy();
    await until(() => namespace.memory.held === 0);
    socket = connect(namespace.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(UPGRADE);
    await once(socket, 'data');
    socket.resume();
    await until(() => namespace.memory.held > 0);
  });
  after(() => socket.destroy());

  test('row 1: the received part of a message counts until the message ends', async () => {
    const empty = namespace.memory.held;
    const header = protocolHeader('amqp');
    socket.write(webSocketFrame(FIRST_PART, header.subarray(0, 5)));
    for (let i = 0; i < 1000; i++) socket.write(PONG);
    await until(() => namespace.memory.held >= empty + 1000 * PONG.length);
    socket.write(webSocketFrame(LAST_PART, header.subarray(5)));
    const [answer] = await once(socket, 'data');
    assert.deepEqual(answer.subarray(-8), header);
    await until(() => namespace.memory.held < empty + 100);
  });

  test('row 1: a message that does not end closes an unauthorized connection at its limit', async () => {
    const closed = closeOf(socket);
    socket.write(webSocketFrame(FIRST_PART, Buffer.of(1)));
    const pongs = Buffer.concat(Array<Buffer>(Math.ceil(heldBytes / PONG.length)).fill(PONG));
    socket.write(pongs);
    await closed;
  });

  test('row 1: a message of too many fragments closes the connection', async () => {
    const closed = closeOf(socket);
    socket.write(webSocketFrame(FIRST_PART, Buffer.of(1)));
    for (let i = 0; i < fragments; i++) socket.write(webSocketFrame(PART, Buffer.of(1)));
    await closed;
  });
});
