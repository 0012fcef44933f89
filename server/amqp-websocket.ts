import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Connection } from '../amqp/endpoint/connection.ts';
import type { Transport } from '../amqp/endpoint/transport.ts';
import type { AmqpServer } from '../amqp/service/amqp-server.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import type { Admission } from './admission.ts';
import { clientAddressOf } from './client-address.ts';
import { closeWith, putBackWithoutUpgrade } from './http/plain-upgrades.ts';
import { PacedReading } from './paced-reading.ts';

/** The path that the vendor's clients use; those in C and .NET append a slash. */
const PATH = /^\/\$servicebus\/websocket\/?$/i;
/** The names of the subprotocol in older and newer clients. */
const PROTOCOLS = ['AMQPWSB10', 'amqp'];
const BUDGET = BUDGETS.webSocket;

/** The dependencies of AMQP over WebSockets. */
export interface WebSocketDependencies {
  readonly amqp: Pick<AmqpServer, 'accept'>;
  /** Decides which requests are served; absent = all. */
  readonly admission: Admission | undefined;
  /** Serves a connection as node:http does. */
  readonly serveHttp: (socket: Duplex) => void;
}

/**
 * Serves AMQP over WebSockets at the vendor's path; other paths have no WebSockets. A request for another protocol is
 * served as if it had not asked for one.
 */
export function serveWebSockets(
  server: Server,
  { amqp, admission, serveHttp }: WebSocketDependencies,
): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: BUDGET.messageBytes,
    maxFragments: BUDGET.fragments,
    maxBufferedChunks: BUDGET.chunks,
    handleProtocols: (offered) => PROTOCOLS.find((protocol) => offered.has(protocol)) ?? false,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // An earlier listener has refused the request.
    if (socket.destroyed) return;
    if (!isForWebSocket(request.headers)) {
      if (putBackWithoutUpgrade(request, socket, head)) serveHttp(socket);
      return;
    }
    const refusal = admission?.refusal(request.headers);
    if (refusal !== undefined) closeWith(socket, rawAnswer('403 Forbidden', refusal));
    else if (!isOurPath(request)) closeWith(socket, rawAnswer('404 Not Found', ''));
    else {
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        serve(amqp, { webSocket, socket, peer: clientAddressOf(request.socket) });
      });
    }
  });
}

/** Whether a request asks for a WebSocket. */
export function isForWebSocket({ upgrade }: IncomingHttpHeaders): boolean {
  return upgrade?.toLowerCase() === 'websocket';
}

function isOurPath({ url = '' }: IncomingMessage): boolean {
  const [path = ''] = url.split('?');
  return PATH.test(decodeURIComponentOr(path));
}

function rawAnswer(status: string, sentence: string): string {
  const length = Buffer.byteLength(sentence);
  return `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${length}\r\n\r\n${sentence}`;
}

interface Upgraded {
  readonly webSocket: WebSocket;
  /** The socket that carries it. */
  readonly socket: Duplex;
  /** The address of the client, if known. */
  readonly peer: string | undefined;
}

function serve(amqp: Pick<AmqpServer, 'accept'>, { webSocket, socket, peer }: Upgraded): void {
  const transport: Transport = {
    peer,
    get backlog() {
      return webSocket.bufferedAmount;
    },
    write: (bytes, written) => webSocket.send(bytes, written),
    pause: () => reading.pause(),
    resume: () => reading.resume(),
    end: () => webSocket.close(),
    destroy: () => webSocket.terminate(),
  };
  const connection = amqp.accept(transport);
  const unfinished = new Unfinished(connection, () => webSocket.terminate());
  const reading = new PacedReading(socket, {
    hasTime: (goOn) => connection.hasTime(goOn),
    take: (bytes) => unfinished.add(bytes),
  });
  webSocket.on('message', (data: Buffer) => {
    unfinished.end();
    connection.input(data);
  });
  // A broken socket closes by itself; the close event then ends the connection.
  webSocket.on('error', () => {});
  webSocket.on('close', () => connection.transportClosed());
}

/**
 * The bytes of an incomplete message. The connection's memory counts them, and the connection ends beyond its limit.
 */
class Unfinished {
  readonly #limits: Connection['limits'];
  readonly #terminate: () => void;
  #bytes = 0;

  constructor({ limits }: Pick<Connection, 'limits'>, terminate: () => void) {
    this.#limits = limits;
    this.#terminate = terminate;
  }

  /** Counts the next bytes, in which the message may end. */
  add(bytes: number): void {
    const isTooMuch = this.#bytes + bytes > BUDGET.unfinishedBytes;
    if (isTooMuch || !this.#limits.tryHold(bytes)) this.#terminate();
    else this.#bytes += bytes;
  }

  end(): void {
    this.#limits.release(this.#bytes);
    this.#bytes = 0;
  }
}

function decodeURIComponentOr(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
