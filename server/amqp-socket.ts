import type { Socket } from 'node:net';
import type { Transport } from '../amqp/endpoint/transport.ts';
import type { AmqpServer } from '../amqp/service/amqp-server.ts';
import { clientAddressOf } from './client-address.ts';

/** Serves AMQP on a socket. */
export function serveAmqp(amqp: Pick<AmqpServer, 'accept'>, socket: Socket): void {
  socket.setNoDelay(true);
  const transport: Transport = {
    peer: clientAddressOf(socket),
    get backlog() {
      return socket.writableLength;
    },
    write: (bytes, written) => {
      if (socket.writable) socket.write(bytes, written);
      else queueMicrotask(written);
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    end: () => socket.end(),
    destroy: () => socket.destroy(),
  };
  const connection = amqp.accept(transport);
  socket.on('data', (bytes) => connection.input(bytes));
  // A broken socket closes by itself; the close event then ends the connection.
  socket.on('error', () => {});
  socket.on('end', () => socket.end());
  socket.on('close', () => connection.transportClosed());
}
