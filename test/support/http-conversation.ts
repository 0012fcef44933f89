import { connect } from 'node:net';

const STATUS = /HTTP\/1\.[01] (\d{3}) /g;

/** What a server answered on one connection. */
export interface RawAnswers {
  /** Of every answer, in order. */
  readonly statuses: readonly number[];
  /** All that came. */
  readonly text: string;
}

/**
 * Writes bytes to a server as they stand, each piece once an answer to the one before has come, and
 * returns what was answered until so many answers have come or the connection was closed.
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
