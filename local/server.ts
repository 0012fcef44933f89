import { createServer, type Server, type Socket } from 'node:net';
import { createProtocolServer, type ServerDependencies } from '../server/server.ts';
import { obtainCertificate } from './certificate.ts';
import { StartupError, UsageError } from './startup-error.ts';

/** The settings of the local server; those of `ServerDependencies` are described there. */
export interface ServerOptions
  extends Pick<
    ServerDependencies,
    'app' | 'memory' | 'amqp' | 'certificate' | 'firstBytesMs' | 'refusalPauseMs' | 'admission'
  > {
  /** The address to listen on. */
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
}

/** A server that accepts requests. */
export interface LocalServer {
  /** Its address for clients on this machine, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Serves a connection that another port accepted. */
  serve(socket: Socket): void;
  /**
   * Stops accepting connections, closes idle ones and lets requests finish, for five seconds at most. Resolves
   * when all connections are closed.
   */
  close(): Promise<void>;
}

/**
 * Serves an app over HTTP and, with `amqp`, AMQP on the same port. Without `certificate`, one is made when
 * the first TLS client connects. Throws UsageError if the address is not
 * this machine's, and StartupError if the server cannot listen on it.
 */
export async function startServer({
  host,
  port,
  certificate = () => obtainCertificate(undefined, Date.now()),
  ...dependencies
}: ServerOptions): Promise<LocalServer> {
  const server = createProtocolServer({ ...dependencies, certificate });
  await listen(server.http, host, port);
  const address = server.http.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return {
    url: `http://${localNameOf(host)}:${address.port}`,
    port: address.port,
    serve: (socket) => {
      server.http.emit('connection', socket);
    },
    close: () => server.close(),
  };
}

/**
 * Checks that the server can listen on an address, before an engine is started in vain. Throws StartupError.
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const probe = createServer();
  await listen(probe, host, port);
  await new Promise((resolve) => probe.close(resolve));
}

/** What the system says of an address that is not this machine's, or of a name without any. */
const WRONG_HOST: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN']);

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(refusedListening(error, host, port)));
    server.listen(port, host, resolve);
  });
}

/** The error for the user where the system does not let a server listen: UsageError or StartupError. */
export function refusedListening(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const isWrongHost = WRONG_HOST.has(error.code ?? '');
  const Refusal = isWrongHost ? UsageError : StartupError;
  return new Refusal(explain(error, host, port), { cause: error });
}

/** A sentence for the user that says why the server cannot listen, and what to do. */
function explain({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken: stop what listens there, or choose another with --port.`;
    case 'EACCES':
      return `Port ${port} may not be used by this user: choose one above 1023 with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `This machine has no address ${host}: choose another with --host.`;
    default:
      return `The server cannot listen on port ${port} of ${host}: ${message}.`;
  }
}

/** The host name for clients on this machine of an address that the server listens on. */
export function localNameOf(host: string): string {
  // localhost may mean 127.0.0.1 only, where a server on ::1 does not answer.
  if (['127.0.0.1', '0.0.0.0', '::'].includes(host)) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
