import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { JoinedSockets } from '../../support/joined-sockets.ts';
import { proxyHeader } from '../../support/proxy-header.ts';

/** A port that forwards its connections to a task of the gateway. */
export interface ForwardedPort {
  readonly port: number;
  stop(): void;
}

/**
 * Forwards connections to a port as the deployed load balancer does: first a PROXY header with the client's
 * address, then the client's bytes in TLS. It does not check the certificate.
 */
export async function forwardPort(target: number): Promise<ForwardedPort> {
  const sockets = new JoinedSockets();
  const server = createServer((client) => {
    const outer = connect(target, '127.0.0.1').setNoDelay();
    client.setNoDelay();
    outer.write(proxyHeader(client.remoteAddress ?? ''));
    const inner = connectTls({ socket: outer, rejectUnauthorized: false });
    outer.on('error', () => {});
    sockets.join(client, inner);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => {
      sockets.destroy();
      server.close();
    },
  };
}
