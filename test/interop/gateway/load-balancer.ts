import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { obtainCertificate } from '../../../local/certificate.ts';
import { JoinedSockets } from '../../support/joined-sockets.ts';

/** Stands for the network load balancer: one address for all tasks, with TLS or without. */
export interface LoadBalancer {
  readonly port: number;
  readonly tlsPort: number;
  /** As PEM, for those who connect with TLS. */
  readonly certificate: string;
  /** From now on new connections go to these ports, in turn; those that are there stay. */
  lead(...ports: readonly number[]): void;
  stop(): void;
}

/** Starts one. */
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
    lead: (...ports) => {
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
