import { once } from 'node:events';
import { connect } from 'node:net';

/** An answer over a connection of its own. */
export interface RawAnswer {
  /** 0 where the connection was closed without one. */
  readonly status: number;
  readonly text: string;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The bytes of a request without a body, after which the connection is to be closed. */
export function requestBytes(path: string, { method = 'GET', headers = {} }: RawRequest = {}) {
  const fields = { Host: 'localhost', Connection: 'close', 'Content-Length': '0', ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
}

/** Writes bytes to a port and resolves with all that comes until the connection is closed. */
export async function exchange(port: number, ...parts: readonly Uint8Array[]): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  socket.write(Buffer.concat(parts));
  await closed;
  const [, status = '0'] = /^HTTP\/1\.1 (\d+) /.exec(text) ?? [];
  return { status: Number(status), text };
}
