import type { Socket } from 'node:net';

/** Who serves what a client turns out to speak. */
export interface ProtocolServers {
  readonly amqp: (socket: Socket) => void;
  readonly http: (socket: Socket) => void;
}

/** How every AMQP connection begins. */
const AMQP = Buffer.from('AMQP');

/** Tells by the first bytes of a connection what it speaks: one port, and so one address, for all. */
export function serveByFirstBytes(socket: Socket, servers: ProtocolServers): void {
  const givenUp = () => socket.destroy();
  socket.once('error', givenUp);
  socket.once('readable', () => {
    socket.off('error', givenUp);
    const first: Buffer | null = socket.read();
    if (first !== null) socket.unshift(first);
    const isAmqp = first !== null && AMQP.subarray(0, first.length).equals(first.subarray(0, 4));
    if (isAmqp) servers.amqp(socket);
    else servers.http(socket);
  });
}
