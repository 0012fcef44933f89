import type { Server } from 'node:http';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { createAdaptorServer } from '@hono/node-server';
import type { Gateway } from '../amqp/service/gateway.ts';
import { serveAmqp } from './amqp-socket.ts';
import { serveWebSockets } from './amqp-websocket.ts';
import { type Certificate, obtainCertificate } from './certificate.ts';
import { type ProtocolServers, Protocols } from './protocols.ts';
import { StartupError } from './startup-error.ts';

/** Longer than clients and proxies keep an idle connection: they, not we, should be first to close. */
const KEEP_ALIVE_MS = 75_000;
/** How long shutdown waits for requests that are being answered. */
const DRAIN_MS_MAX = 5_000;
const FIRST_BYTES_MS_MAX = 30_000;

/** What answers requests; every Hono app does. */
export interface WebApp {
  fetch(request: Request, bindings?: object): Response | Promise<Response>;
}

export interface ServerOptions {
  readonly app: WebApp;
  /** Serves the clients that speak AMQP, on the same port; without it there is HTTP only. */
  readonly gateway?: Gateway;
  /** What TLS clients are shown; made for the occasion where nothing is said. */
  readonly certificate?: () => Certificate;
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

/** Serves an app on node:http, and AMQP beside it. Throws StartupError where the address cannot be had. */
export async function startServer({
  app,
  gateway,
  certificate = () => obtainCertificate(undefined, Date.now()),
  host,
  port,
  firstBytesMs = FIRST_BYTES_MS_MAX,
}: ServerOptions): Promise<LocalServer> {
  const server = createAdaptorServer({
    fetch: async (request, bindings) => {
      const response = await app.fetch(request, bindings);
      discardRest(bindings.incoming);
      return response;
    },
    serverOptions: { keepAliveTimeout: KEEP_ALIVE_MS },
  }) as Server;
  const protocols = gateway && serveAmqpToo(server, gateway, { certificate, firstBytesMs });
  await listen(server, host, port);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return {
    url: `http://${nameOf(host)}:${address.port}`,
    port: address.port,
    serve: (socket) => {
      server.emit('connection', socket);
    },
    close: async () => {
      const closed = close(server);
      protocols?.dismiss();
      await closed;
    },
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

/** Puts a look at the first bytes before the HTTP server's own reading. */
function serveAmqpToo(
  server: Server,
  gateway: Gateway,
  options: Pick<ProtocolServers, 'certificate' | 'firstBytesMs'>,
): Protocols {
  const serveHttp = server.listeners('connection');
  server.removeAllListeners('connection');
  const protocols = new Protocols({
    amqp: (socket) => serveAmqp(gateway, socket),
    http: (socket) => {
      for (const serve of serveHttp) serve.call(server, socket);
    },
    ...options,
  });
  server.on('connection', (socket: Socket) => protocols.serve(socket));
  serveWebSockets(server, gateway);
  return protocols;
}

/**
 * Lets go what an app refused without having read it all. Left to the adapter it would stop the
 * connection for a moment and then break it, under the next request of a client that did no wrong.
 */
function discardRest(incoming: Readable): void {
  if (incoming.readableEnded) return;
  incoming.removeAllListeners('data');
  incoming.resume();
}

function listen(server: NetServer, host: string, port: number): Promise<void> {
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

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection that was busy until now is idle after its answer, and would stay open.
  const closeIdle = setInterval(() => server.closeIdleConnections(), 50);
  const closeAll = setTimeout(() => server.closeAllConnections(), DRAIN_MS_MAX);
  await closed;
  clearInterval(closeIdle);
  clearTimeout(closeAll);
}
