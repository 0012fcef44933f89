import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { obtainCertificate } from '../../../local/certificate.ts';
import { JoinedSockets } from '../../support/joined-sockets.ts';

/** Stands in for the network load balancer: one address for all tasks, with TLS and without. */
export interface LoadBalancer {
  readonly port: number;
  readonly tlsPort: number;
  /** As PEM, for clients that use TLS. */
  readonly certificate: string;
  /** Sends new connections to these ports, in turn. Existing connections stay. */
  routeTo(...ports: readonly number[]): void;
  stop(): void;
}

/** Starts a load balancer without targets. */
export async function startLoadBalancer(): Promise<LoadBalancer> {
  const certificate = obtainCertificate(undefined, Date.now());
  const sockets = new JoinedSockets();
  let targets: readonly number[] = [];
  let turn = 0;
  const forward = (client: Socket) => {
    const port = targets[turn++ % targets.length];
    if (port === undefined) {
      client.destroy();
      return;
    }
    const target = connect(port, '127.0.0.1');
    sockets.join(client, target);
  };
  const plain = createServer(forward);
  const tls = createTlsServer({ cert: certificate.certificate, key: certificate.key }, forward);
  const [port, tlsPort] = await Promise.all([plain, tls].map(listen));
  return {
    port: port ?? 0,
    tlsPort: tlsPort ?? 0,
    certificate: certificate.certificate,
    routeTo: (...ports) => {
      targets = ports;
    },
    stop: () => {
      sockets.destroy();
      plain.close();
      tls.close();
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
