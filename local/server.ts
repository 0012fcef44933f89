import { createServer, type Server, type Socket } from 'node:net';
import { createProtocolServer, type ServerParts } from '../server/server.ts';
import { obtainCertificate } from './certificate.ts';
import { StartupError } from './startup-error.ts';

export interface ServerOptions
  extends Pick<
    ServerParts,
    'app' | 'memory' | 'gateway' | 'certificate' | 'firstBytesMs' | 'refusalPauseMs' | 'admission'
  > {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** How long a connection may stay without a word. */
  readonly firstBytesMs?: number;
}

/** A server that accepts requests. */
export interface LocalServer {
  /** Where a client on this machine reaches it, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Serves a connection that came in elsewhere. */
  serve(socket: Socket): void;
  /**
   * Stops accepting, closes idle connections and lets requests finish, for five seconds at most.
   * Resolves once all connections are closed.
   */
  close(): Promise<void>;
}

/**
 * Serves an app on this machine, and AMQP beside it. TLS clients are shown a certificate that is made
 * for the occasion where none is given. Throws StartupError where the address cannot be had.
 */
export async function startServer({
  app,
  memory,
  gateway,
  certificate = () => obtainCertificate(undefined, Date.now()),
  host,
  port,
  firstBytesMs,
  refusalPauseMs,
  admission,
}: ServerOptions): Promise<LocalServer> {
  const server = createProtocolServer({
    app,
    memory,
    gateway,
    certificate,
    firstBytesMs,
    refusalPauseMs,
    admission,
  });
  await listen(server.http, host, port);
  const address = server.http.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return {
    url: `http://${nameOf(host)}:${address.port}`,
    port: address.port,
    serve: (socket) => {
      server.http.emit('connection', socket);
    },
    close: () => server.close(),
  };
}

/**
 * Finds out early whether the address can be had, before an engine is started for nothing. Throws
 * StartupError.
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const probe = createServer();
  await listen(probe, host, port);
  await new Promise((resolve) => probe.close(resolve));
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new StartupError(refusal(error, host, port), { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

function refusal({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken: stop what listens there, or choose another with --port.`;
    case 'EACCES':
      return `Port ${port} may not be used by this user: choose one above 1023 with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${host}: choose another with --host.`;
    default:
      return `Port ${port} on ${host} cannot be listened on: ${message}.`;
  }
}

/** The name by which this machine reaches an address it listens on. */
function nameOf(host: string): string {
  if (['127.0.0.1', '0.0.0.0', '::1', '::'].includes(host)) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
