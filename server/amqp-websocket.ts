import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Transport } from '../amqp/endpoint/handlers.ts';
import type { Gateway } from '../amqp/service/gateway.ts';
import { clientAddressOf } from './client-address.ts';

/** Where the vendor's clients look for it: the address stands in their code, in C and .NET with a slash more. */
const PATH = /^\/\$servicebus\/websocket\/?$/i;
/** What older and newer clients call what they speak inside. */
const PROTOCOLS = ['AMQPWSB10', 'amqp'];
const MESSAGE_BYTES_MAX = 1024 * 1024;

/** Serves AMQP inside of WebSockets, which proxies let through. */
export function serveWebSockets(server: Server, gateway: Pick<Gateway, 'accept'>): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MESSAGE_BYTES_MAX,
    handleProtocols: (offered) => PROTOCOLS.find((protocol) => offered.has(protocol)) ?? false,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const [path = ''] = (request.url ?? '').split('?');
    if (!PATH.test(decodeURIComponentOr(path))) {
      // Nobody else listens to this socket any more: its end would be the end of the process.
      socket.on('error', () => {});
      socket.once('finish', () => socket.destroy());
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      serve(gateway, webSocket, clientAddressOf(request.socket));
    });
  });
}

function serve(
  gateway: Pick<Gateway, 'accept'>,
  webSocket: WebSocket,
  peer: string | undefined,
): void {
  const transport: Transport = {
    peer,
    get backlog() {
      return webSocket.bufferedAmount;
    },
    write: (bytes, written) => webSocket.send(bytes, written),
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    end: () => webSocket.close(),
    destroy: () => webSocket.terminate(),
  };
  const connection = gateway.accept(transport);
  webSocket.on('message', (data: Buffer) => connection.input(data));
  // A broken socket closes by itself, and then is lost.
  webSocket.on('error', () => {});
  webSocket.on('close', () => connection.lost());
}

function decodeURIComponentOr(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
