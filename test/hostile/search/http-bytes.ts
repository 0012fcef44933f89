import type { Step } from './wire.ts';

/** Requests as bytes, so that they may be as wrong as one likes. */

const PIECE = Buffer.alloc(64 * 1024, 'x');
const JSON_TYPE = 'application/vnd.microsoft.servicebus.json';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly token?: string;
  readonly type?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: Buffer | string;
}

/** A whole request. */
export function httpRequest(request: HttpRequest): Buffer {
  const body = Buffer.from(request.body ?? '');
  const head = headOf(request, [['Content-Length', String(body.length)]]);
  return Buffer.concat([head, body]);
}

/** A request that announces a body, which comes in pieces. */
export function withLargeBody(request: HttpRequest, bytes: number, isChunked: boolean): Step[] {
  const times = Math.ceil(bytes / PIECE.length);
  if (!isChunked) {
    const length = String(times * PIECE.length);
    return [headOf(request, [['Content-Length', length]]), { times, make: () => PIECE }];
  }
  const chunk = chunkOf(PIECE);
  return [
    headOf(request, [['Transfer-Encoding', 'chunked']]),
    { times, make: () => chunk },
    chunkOf(Buffer.alloc(0)),
  ];
}

export function chunkOf(bytes: Buffer, extension = ''): Buffer {
  const size = Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`);
  return Buffer.concat([size, bytes, Buffer.from('\r\n')]);
}

/** Everything before the body. */
export function headOf(
  { method, path, token, type = JSON_TYPE, headers = [] }: HttpRequest,
  more: readonly (readonly [string, string])[] = [],
): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    ...(token === undefined ? [] : [`Authorization: ${token}`]),
    `Content-Type: ${type}`,
    ...[...headers, ...more].map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
