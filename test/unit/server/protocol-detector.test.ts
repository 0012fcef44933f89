import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ProtocolDetector } from '../../../server/protocol-detector.ts';
import { UnauthorizedConnections } from '../../../server/unauthorized-connections.ts';

const SILENT_MS_MAX = 30_000;

/** A port for several protocols, and the names of those that were served. */
async function startPort(t: TestContext) {
  const served: string[] = [];
  const serve = (name: string) => (socket: Socket) => {
    served.push(name);
    socket.on('error', () => {});
    socket.end();
  };
  const detector = new ProtocolDetector({
    amqp: serve('amqp'),
    http: serve('http'),
    certificate: undefined,
    firstBytesMs: 30_000,
    unauthorized: new UnauthorizedConnections(),
  });
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket);
    detector.serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of accepted) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const connected = async () => {
    const client = connect(port, '127.0.0.1');
    client.on('error', () => {});
    const before = accepted.length;
    await once(client, 'connect');
    while (accepted.length === before) await new Promise(setImmediate);
    client.resume();
    return client;
  };
  return { detector, served, connected };
}

test('the first bytes of a connection determine its protocol', async (t) => {
  const { served, connected } = await startPort(t);
  for (const first of ['AMQP\x03\x01\x00\x00', 'GET / HTTP/1.1\r\n\r\n']) {
    const client = await connected();
    client.write(first, 'latin1');
    await once(client, 'close');
  }
  assert.deepEqual(served, ['amqp', 'http']);
});

test('without a certificate a client that begins TLS is disconnected', async (t) => {
  const { served, connected } = await startPort(t);
  const client = await connected();
  client.write(Uint8Array.of(0x16, 3, 1, 0, 1, 1));
  await once(client, 'close');
  assert.deepEqual(served, []);
});

test('a client that sends nothing for half a minute is disconnected', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { connected } = await startPort(t);
  const [silent, other] = [await connected(), await connected()];
  const closed = once(silent, 'close');
  other.write('AM');
  await once(other, 'close');
  t.mock.timers.tick(SILENT_MS_MAX - 1);
  assert.equal(silent.destroyed, false);
  t.mock.timers.tick(1);
  await closed;
});

test('closing ends the connections that have sent nothing yet', async (t) => {
  const { detector, connected } = await startPort(t);
  const silent = await connected();
  const closed = once(silent, 'close');
  detector.close();
  await closed;
});
