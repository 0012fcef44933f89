import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import type { AmqpServer } from '../amqp/service/amqp-server.ts';
import { whenAuthorized } from '../shared/domain/budgets/authorized-requests.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import type { MemoryBudget } from '../shared/domain/budgets/memory-budget.ts';
import type { AddressLimits } from './address-limits.ts';
import type { Admission } from './admission.ts';
import { serveAmqp } from './amqp-socket.ts';
import { isForWebSocket, serveWebSockets, type WebSocketDependencies } from './amqp-websocket.ts';
import { clientAddressOf } from './client-address.ts';
import { GatheredRequest } from './http/gathered-request.ts';
import { HttpMemory } from './http/http-memory.ts';
import { PacedAnswer, PacedRequests } from './http/paced-requests.ts';
import { RefusedTokens } from './http/refused-tokens.ts';
import {
  type Admit,
  type Certificate,
  ProtocolDetector,
  type ProtocolDetectorOptions,
} from './protocol-detector.ts';
import { UnauthorizedConnections } from './unauthorized-connections.ts';

const UNAUTHENTICATED = 401;
/** Longer than clients and proxies keep an idle connection, so that they close it first. */
const KEEP_ALIVE_MS = 75_000;
/** How long shutdown waits for requests under way, ms. */
const DRAIN_MS_MAX = 5_000;

/** An app that answers requests, for example a Hono app. */
export interface WebApp {
  fetch(request: Request, bindings?: object): Response | Promise<Response>;
}

/** The dependencies of the server. */
export interface ServerDependencies {
  readonly app: WebApp;
  /** Bounds the memory that all peers of the process use. */
  readonly memory: MemoryBudget;
  /** Serves AMQP clients on the same port; absent = HTTP only. */
  readonly amqp?: AmqpServer | undefined;
  /** The certificate for TLS clients; absent = no TLS. */
  readonly certificate?: (() => Certificate) | undefined;
  /** Whether a load balancer in front terminates TLS, so that addresses in answers begin with https. */
  readonly isBehindTls?: boolean;
  /** How long a client may take to send its first bytes, ms. */
  readonly firstBytesMs?: number | undefined;
  /** How long the answer to a client with too many refused tokens is delayed, ms. */
  readonly refusalPauseMs?: number | undefined;
  /**
   * The load balancer through which all connections come, each with a PROXY header; absent = PROXY headers are not
   * accepted.
   */
  readonly loadBalancer?: LoadBalancer | undefined;
  /** Decides which requests and WebSockets are served; absent = all. AMQP on a plain socket is always served. */
  readonly admission?: Admission | undefined;
}

/** How the connections of clients that come through a load balancer, and its health checks, are served. */
export interface LoadBalancer {
  /** Limits by client address. */
  readonly limits: AddressLimits;
  /** Answers connections without a client's address, which are health checks. */
  readonly health: WebApp;
  /** Monotonic ms. */
  readonly now: () => number;
  readonly connectionEnded?: ((connection: EndedConnection) => void) | undefined;
}

/** A connection that has ended, for the access log; bytes as on the wire. */
export interface EndedConnection {
  readonly client: string;
  readonly ms: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** A server for HTTP and AMQP on one port; it does not listen yet. */
export interface ProtocolServer {
  readonly http: Server;
  /**
   * Stops accepting, closes idle connections and waits for requests under way, five seconds at most. Resolves once all
   * connections are closed; the AMQP server closes those of AMQP.
   */
  close(): Promise<void>;
}

/** Creates the server. */
export function createProtocolServer({
  app,
  memory,
  amqp,
  certificate,
  isBehindTls = false,
  firstBytesMs = BUDGETS.connection.firstBytesMs,
  refusalPauseMs,
  loadBalancer,
  admission,
}: ServerDependencies): ProtocolServer {
  /** The app for a connection of the load balancer's own. */
  const healthFor = (socket: Socket) =>
    clientAddressOf(socket) === undefined ? loadBalancer?.health : undefined;
  const refusedTokens = new RefusedTokens(refusalPauseMs);
  const held = new HttpMemory(memory);
  const unauthorized = new UnauthorizedConnections();
  const http = createAdaptorServer({
    fetch: async (request, bindings) => {
      const { incoming, outgoing } = bindings as HttpBindings;
      const health = healthFor(incoming.socket);
      held.begun(incoming, outgoing);
      // The client has gone.
      if (incoming.socket.destroyed) return new Response(null, { status: 503 });
      // Not before the answer is sent, since a receiver may wait for it.
      whenAuthorized(request, () => {
        unauthorized.delete(incoming.socket);
        held.authorized(incoming);
      });
      const refusal = admission?.refusal(incoming.headers);
      const response =
        refusal === undefined
          ? await (health ?? app).fetch(request, bindings)
          : new Response(refusal, { status: 403 });
      if (response.status === UNAUTHENTICATED) await refusedTokens.count(outgoing);
      (incoming as GatheredRequest).discardRest();
      // Bytes that leave immediately are not counted.
      setImmediate(() => held.written(incoming, outgoing));
      return response;
    },
    serverOptions: {
      IncomingMessage: GatheredRequest,
      // The types require a class for requests of any class.
      ServerResponse: PacedAnswer as typeof ServerResponse,
      keepAliveTimeout: KEEP_ALIVE_MS,
      highWaterMark: BUDGETS.request.aheadBytes,
    },
  }) as Server;
  http.on('connection', (socket: Socket) =>
    PacedRequests.serve(socket, {
      // Health checks do not wait behind clients without a right.
      pace: (one, parse) => unauthorized.pace(one, parse, healthFor(socket) !== undefined),
      waiting: (one, bytes) => held.waiting(one, bytes),
    }),
  );
  // The adapter reads this property of the socket, which node:tls sets.
  if (isBehindTls) http.prependListener('connection', (socket: Socket) => markEncrypted(socket));
  const admit = loadBalancer && admitting(loadBalancer);
  const detector =
    amqp &&
    serveAmqpToo(http, { amqp, admission }, { certificate, firstBytesMs, admit, unauthorized });
  if (loadBalancer !== undefined) http.prependListener('upgrade', refuseWithoutClient);
  return { http, close: () => close(http, detector) };
}

/** Admits connections by address, and reports each when it has ended. */
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

/** Refuses everything but health checks on a connection of the load balancer's own. */
function refuseWithoutClient(_request: IncomingMessage, socket: Duplex): void {
  if (clientAddressOf(socket) === undefined) socket.destroy();
}

function markEncrypted(socket: Socket): void {
  Object.assign(socket, { encrypted: true });
}

/** Detects the protocol of each connection before the HTTP server reads it. */
function serveAmqpToo(
  server: Server,
  { amqp, admission }: Omit<WebSocketDependencies, 'serveHttp'>,
  options: Pick<ProtocolDetectorOptions, 'certificate' | 'firstBytesMs' | 'admit' | 'unauthorized'>,
): ProtocolDetector {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const serveHttp = (socket: Duplex) => {
    for (const listener of listeners) listener.call(server, socket);
  };
  const detector = new ProtocolDetector({
    amqp: (socket) => serveAmqp(amqp, socket),
    http: serveHttp,
    ...options,
  });
  server.on('connection', (socket: Socket) => detector.serve(socket));
  server.on('upgrade', ({ headers }, socket) => {
    PacedRequests.upgraded(socket);
    // The AMQP server counts the connection from here on.
    if (isForWebSocket(headers)) options.unauthorized.delete(socket);
  });
  serveWebSockets(server, { amqp, admission, serveHttp });
  return detector;
}

async function close(server: Server, detector: ProtocolDetector | undefined): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A busy connection becomes idle after its answer and would stay open.
  const closeIdle = setInterval(() => server.closeIdleConnections(), 50);
  const closeAll = setTimeout(() => server.closeAllConnections(), DRAIN_MS_MAX);
  detector?.close();
  await closed;
  clearInterval(closeIdle);
  clearTimeout(closeAll);
}
