import { once } from 'node:events';
import { connect } from 'node:net';

const STATUS = /HTTP\/1\.[01] (\d{3}) /g;

/**
 * Writes bytes to a server as they stand, each piece once an answer to the one before has come, and
 * returns the status of every answer up to the last that is waited for, and all that came.
 */
export async function rawHttp(
  port: number,
  pieces: readonly string[],
  answers: number = pieces.length,
): Promise<{ readonly statuses: readonly number[]; readonly text: string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  const statuses = () => [...text.matchAll(STATUS)].map(([, status]) => Number(status));
  socket.setEncoding('latin1').on('data', (bytes) => {
    text += bytes;
  });
  const closed = once(socket, 'close');
  try {
    for (const [index, piece] of pieces.entries()) {
      socket.write(piece, 'latin1');
      const wanted = index === pieces.length - 1 ? answers : index + 1;
      while (statuses().length < wanted) {
        if (await Promise.race([closed, once(socket, 'data').then(() => false)])) break;
      }
    }
    return { statuses: statuses(), text };
  } finally {
    socket.destroy();
  }
}

/** A request without a body, or with one of a known length. */
export function requestText(
  line: string,
  fields: Readonly<Record<string, string>> = {},
  body?: string,
): string {
  const all = {
    Host: 'localhost',
    ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
    ...fields,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`${line} HTTP/1.1`, ...lines, '', body ?? ''].join('\r\n');
}
