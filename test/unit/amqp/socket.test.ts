import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import type { Transport } from '../../../amqp/endpoint/transport.ts';
import type { AmqpServer } from '../../../amqp/service/amqp-server.ts';
import { serveAmqp } from '../../../server/amqp-socket.ts';
import { fakeGateway, turn } from '../../support/fake-peer.ts';

test('bytes written after the peer is gone are reported as written', async () => {
  const { gateway } = fakeGateway();
  let transport: Transport | undefined;
  const accepting: Pick<AmqpServer, 'accept'> = {
    accept: (accepted) => {
      transport = accepted;
      return gateway.accept(accepted);
    },
  };
  const server = createServer().listen(0);
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const peer = connect(port);
  const socket = await accepted;
  serveAmqp(accepting, socket);
  socket.end();
  let written = 0;
  transport?.write(Buffer.alloc(10), () => written++);
  for (let i = 0; i < 3; i++) await turn();
  assert.equal(written, 1);
  peer.destroy();
  socket.destroy();
  server.close();
});
