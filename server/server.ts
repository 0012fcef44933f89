import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import type { Gateway } from '../amqp/service/gateway.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../shared/domain/budgets/memory-budget.ts';
import { whenRightProved } from '../shared/domain/budgets/proved-requests.ts';
import type { Admission } from './admission.ts';
import { serveAmqp } from './amqp-socket.ts';
import { isForWebSocket, serveWebSockets, type WebSocketParts } from './amqp-websocket.ts';
import { clientAddressOf } from './client-address.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import { GatheredRequest } from './http/gathered-request.ts';
import { HttpMemory } from './http/http-memory.ts';
import { PacedAnswer, PacedRequests } from './http/paced-requests.ts';
import { Refusals } from './http/refusals.ts';
import { type Admit, type Certificate, type ProtocolServers, Protocols } from './protocols.ts';
import { UnprovedConnections } from './unproved-connections.ts';

const UNAUTHENTICATED = 401;
/** Longer than clients and proxies keep an idle connection: they, not we, should be first to close. */
const KEEP_ALIVE_MS = 75_000;
/** How long shutdown waits for requests that are being answered. */
const DRAIN_MS_MAX = 5_000;

/** What answers requests; every Hono app does. */
export interface WebApp {
  fetch(request: Request, bindings?: object): Response | Promise<Response>;
}

export interface ServerParts {
  readonly app: WebApp;
  /** What all peers of the process may hold. */
  readonly memory: MemoryBudget;
  /** Serves the clients that speak AMQP, on the same port; without it there is HTTP only. */
  readonly gateway?: Gateway | undefined;
  /** What TLS clients are shown; without one there is no TLS. */
  readonly certificate?: (() => Certificate) | undefined;
  /** Whether all clients speak TLS with a load balancer before us: addresses we tell begin so. */
  readonly isBehindTls?: boolean;
  /** How long a client may take to show what it speaks. */
  readonly firstBytesMs?: number | undefined;
  /** How long the answer is held back where a client was refused too often. */
  readonly refusalPauseMs?: number | undefined;
  /**
   * The load balancer that all connections come by, each with a PROXY header; without it no such header
   * is believed.
   */
  readonly loadBalancer?: LoadBalancer | undefined;
  /** Which requests and WebSockets are served; without it all are. AMQP on a socket of its own always is. */
  readonly admission?: Admission | undefined;
}

/** How connections are served that a load balancer forwards, and its own. */
export interface LoadBalancer {
  /** What clients may do, by the addresses that it tells. */
  readonly limits: ConnectionLimits;
  /** Answers connections without a client's address: the checks of our health. */
  readonly health: WebApp;
  /** Monotonic ms. */
  readonly now: () => number;
  readonly connectionEnded?: ((connection: EndedConnection) => void) | undefined;
}

/** What is told of a connection when it has ended; bytes as they came, inside of TLS or not. */
export interface EndedConnection {
  readonly client: string;
  readonly ms: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** An app on node:http, and AMQP beside it on one port; it does not listen yet. */
export interface ProtocolServer {
  readonly http: Server;
  /**
   * Stops accepting, closes idle connections and lets requests finish, for five seconds at most.
   * Resolves once all connections are closed; those of AMQP are the gateway's to close.
   */
  close(): Promise<void>;
}

/** Puts the parts together. */
export function createProtocolServer({
  app,
  memory,
  gateway,
  certificate,
  isBehindTls = false,
  firstBytesMs = BUDGETS.connection.firstBytesMs,
  refusalPauseMs,
  loadBalancer,
  admission,
}: ServerParts): ProtocolServer {
  /** What answers a connection of the load balancer's own. */
  const healthFor = (socket: Socket) =>
    clientAddressOf(socket) === undefined ? loadBalancer?.health : undefined;
  const refusals = new Refusals(refusalPauseMs);
  const held = new HttpMemory(memory);
  const unproved = new UnprovedConnections();
  const http = createAdaptorServer({
    fetch: async (request, bindings) => {
      const { incoming, outgoing } = bindings as HttpBindings;
      const health = healthFor(incoming.socket);
      held.begun(incoming, outgoing);
      // Nobody is there any more to be answered.
      if (incoming.socket.destroyed) return new Response(null, { status: 503 });
      // Not with the answer, which a receiver may wait for.
      whenRightProved(request, () => {
        unproved.delete(incoming.socket);
        held.proved(incoming);
      });
      const refusal = admission?.refusal(incoming.headers);
      const response =
        refusal === undefined
          ? await (health ?? app).fetch(request, bindings)
          : new Response(refusal, { status: 403 });
      if (response.status === UNAUTHENTICATED) await refusals.count(outgoing);
      discardRest(incoming);
      // What goes out at once needs no room.
      setImmediate(() => held.written(incoming, outgoing));
      return response;
    },
    serverOptions: {
      IncomingMessage: GatheredRequest,
      // The types want a class for requests of any class.
      ServerResponse: PacedAnswer as typeof ServerResponse,
      keepAliveTimeout: KEEP_ALIVE_MS,
      highWaterMark: BUDGETS.request.aheadBytes,
    },
  }) as Server;
  http.on('connection', (socket: Socket) =>
    PacedRequests.serve(socket, {
      // Checks of our health do not wait for strangers.
      turn: (one, parse) => unproved.turn(one, parse, healthFor(socket) !== undefined),
      waiting: (one, bytes) => held.waiting(one, bytes),
    }),
  );
  // The adapter asks the socket, as node:tls would have it.
  if (isBehindTls) http.prependListener('connection', (socket: Socket) => markEncrypted(socket));
  const admit = loadBalancer && admitting(loadBalancer);
  const protocols =
    gateway &&
    serveAmqpToo(http, { gateway, admission }, { certificate, firstBytesMs, admit, unproved });
  if (loadBalancer !== undefined) http.prependListener('upgrade', refuseWithoutClient);
  return { http, close: () => close(http, protocols) };
}

/** Lets connections in by their addresses, and tells of each when it has ended. */
function admitting({ limits, now, connectionEnded }: LoadBalancer): Admit {
  return (socket, client) => {
    const close = limits.open(client);
    if (close === undefined) return false;
    const since = now();
    socket.once('close', () => {
      close();
      const { bytesRead: bytesIn, bytesWritten: bytesOut } = socket;
      connectionEnded?.({ client, ms: Math.round(now() - since), bytesIn, bytesOut });
    });
    return true;
  };
}

/** On a connection of the load balancer's own nothing but requests about our health is served. */
function refuseWithoutClient(_request: IncomingMessage, socket: Duplex): void {
  if (clientAddressOf(socket) === undefined) socket.destroy();
}

function markEncrypted(socket: Socket): void {
  Object.assign(socket, { encrypted: true });
}

/** Puts a look at the first bytes before the HTTP server's own reading. */
function serveAmqpToo(
  server: Server,
  { gateway, admission }: Omit<WebSocketParts, 'serveHttp'>,
  options: Pick<ProtocolServers, 'certificate' | 'firstBytesMs' | 'admit' | 'unproved'>,
): Protocols {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const serveHttp = (socket: Duplex) => {
    for (const listener of listeners) listener.call(server, socket);
  };
  const protocols = new Protocols({
    amqp: (socket) => serveAmqp(gateway, socket),
    http: serveHttp,
    ...options,
  });
  server.on('connection', (socket: Socket) => protocols.serve(socket));
  server.on('upgrade', ({ headers }, socket) => {
    PacedRequests.upgraded(socket);
    // From now on the gateway counts it.
    if (isForWebSocket(headers)) options.unproved.delete(socket);
  });
  serveWebSockets(server, { gateway, admission, serveHttp });
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

async function close(server: Server, protocols: Protocols | undefined): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection that was busy until now is idle after its answer, and would stay open.
  const closeIdle = setInterval(() => server.closeIdleConnections(), 50);
  const closeAll = setTimeout(() => server.closeAllConnections(), DRAIN_MS_MAX);
  protocols?.close();
  await closed;
  clearInterval(closeIdle);
  clearTimeout(closeAll);
}
