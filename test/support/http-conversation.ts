import { connect } from 'node:net';

const STATUS = /HTTP\/1\.[01] (\d{3}) /g;

/** The answers of a server on one connection. */
export interface RawAnswers {
  /** The status of every answer, in order. */
  readonly statuses: readonly number[];
  /** All received bytes, as Latin-1 text. */
  readonly text: string;
}

/**
 * Writes bytes to a server, each piece after the answer to the one before. Returns the answers when there
 * are `answers` of them, or when the connection is closed.
 */
export async function rawHttp(
  port: number,
  pieces: readonly (string | Uint8Array)[],
  answers: number = pieces.length,
): Promise<RawAnswers> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  let wake = () => {};
  socket.setEncoding('latin1').on('data', (bytes) => {
    text += bytes;
    wake();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
    wake();
  });
  const statuses = () => [...text.matchAll(STATUS)].map(([, status]) => Number(status));
  for (const [index, piece] of pieces.entries()) {
    if (typeof piece === 'string') socket.write(piece, 'latin1');
    else socket.write(piece);
    const wanted = index === pieces.length - 1 ? answers : index + 1;
    while (!isClosed && statuses().length < wanted) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  socket.destroy();
  return { statuses: statuses(), text };
}

/** The text of a request, without a body or with one and its Content-Length. */
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
