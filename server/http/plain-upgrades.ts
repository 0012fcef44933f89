import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';

/**
 * A request that asks for a protocol which is not spoken here, for instance `Upgrade: h2c`, is an
 * ordinary request: a server may ignore the field (RFC 9110 §7.8). node:http takes it for the end of
 * HTTP on the connection as soon as anybody listens for WebSockets, and leaves its body unread.
 */

/** The field itself, and what only accompanies it. */
const UPGRADE_FIELDS = new Set(['upgrade', 'http2-settings']);
const TOO_MANY_FIELDS =
  'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * Puts a request back before the bytes that follow it, without its wish for another protocol. The
 * socket is then to be served as a new HTTP connection. Returns false, with the socket closed, where
 * the request has more header fields than are kept.
 */
export function putBackWithoutUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): boolean {
  // From so many on, node:http drops header fields; without them a request is another one.
  if (request.rawHeaders.length >= 2 * BUDGETS.request.headerFields) {
    closeWith(socket, TOO_MANY_FIELDS);
    return false;
  }
  // The time-out of the idle connection before; the next server of it does not know that it was set.
  if (socket instanceof Socket) socket.setTimeout(0);
  if (head.length > 0) socket.unshift(head);
  socket.unshift(Buffer.from(headOf(request), 'latin1'));
  return true;
}

/** Answers on a socket that node:http has let go, and closes it. */
export function closeWith(socket: Duplex, answer: string): void {
  // Nobody else listens to this socket any more: its end would be the end of the process.
  socket.on('error', () => {});
  socket.once('finish', () => socket.destroy());
  socket.end(answer);
}

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    const lowerCase = name.toLowerCase();
    if (UPGRADE_FIELDS.has(lowerCase)) continue;
    lines.push(`${name}: ${lowerCase === 'connection' ? withoutUpgrade(value) : value}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** The options of a Connection field but those that name the fields taken out. */
function withoutUpgrade(value: string): string {
  const options = value.split(',').map((option) => option.trim());
  return options.filter((option) => !UPGRADE_FIELDS.has(option.toLowerCase())).join(', ');
}
