import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';

/**
 * A request for a protocol that this server does not support, for example `Upgrade: h2c`, is an ordinary request: a
 * server may ignore the field (RFC 9110 §7.8). Once there is a listener for WebSockets, node:http treats it as the end
 * of HTTP on the connection and leaves its body unread.
 */

/** The field itself, and the fields that only accompany it. */
const UPGRADE_FIELDS = new Set(['upgrade', 'http2-settings']);
const TOO_MANY_FIELDS =
  'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * Puts a request back in front of the bytes that follow it, without its Upgrade field; the caller then serves the
 * socket as a new HTTP connection. Returns false and closes the socket if the request has more header fields than
 * node:http keeps.
 */
export function putBackWithoutUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): boolean {
  // node:http drops header fields beyond this number, and a request without them is a different one.
  if (request.rawHeaders.length >= 2 * BUDGETS.request.headerFields) {
    closeWith(socket, TOO_MANY_FIELDS);
    return false;
  }
  // Clears the timeout of the idle connection, which its next server does not know about.
  if (socket instanceof Socket) socket.setTimeout(0);
  if (head.length > 0) socket.unshift(head);
  socket.unshift(Buffer.from(headOf(request), 'latin1'));
  return true;
}

/** Answers on a socket that node:http has released, and closes it. */
export function closeWith(socket: Duplex, answer: string): void {
  // No other listener is left on this socket, so an error without this one would end the process.
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

/** The options of a Connection field, without those that name removed fields. */
function withoutUpgrade(value: string): string {
  const options = value.split(',').map((option) => option.trim());
  return options.filter((option) => !UPGRADE_FIELDS.has(option.toLowerCase())).join(', ');
}
