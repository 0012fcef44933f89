import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { HttpAnswer } from './call.ts';

/**
 * Requests over node's own HTTP client. Environments of tests replace `fetch` and `AbortSignal` by those of a simulated
 * browser, or have none.
 */

/** A request. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** How long the answer may take, ms. */
  readonly timeoutMs: number;
  /** How long its body may be, bytes. */
  readonly bytesMax: number;
  /** Calls the request off: its connection is closed. */
  readonly signal?: AbortSignal;
}

/** How long a connection may take to open, ms. */
const CONNECT_MS_MAX = 10_000;
/**
 * The last part of the time for an answer, ms, is waited for apart. After a process was frozen, timers that were due
 * meanwhile run before anything is read: so an answer that came during the freeze is read before its time is over.
 */
const LAST_MS_MAX = 1_000;

/** Tests may replace the timers of this process later. */
const { setTimeout, clearTimeout } = globalThis;

/**
 * Connections are kept for the next request, as many as a process uses at once, but not for so long that the service
 * closes them meanwhile: a request that meets the end of its connection may have been served or not.
 */
const KEEP = { keepAlive: true, maxSockets: 64, timeout: 20_000 } as const;
let agents: { readonly plain: PlainAgent; readonly tls: TlsAgent } | undefined;

/** Sends a request. Follows no redirect. Rejects with the error of the connection, ETIMEDOUT or ABORT_ERR. */
export async function httpCall(call: HttpRequest): Promise<HttpAnswer> {
  const response = await respond(call);
  const { statusCode: status = 0, headers } = response;
  const bytes = await bytesOf(response, call.bytesMax);
  return {
    status,
    header: (name) => {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    get text() {
      return bytes.toString('utf8');
    },
    bytes,
  };
}

async function bytesOf(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    // To leave the loop closes the connection.
    if (length > bytesMax) throw failure('EMSGSIZE', 'The answer is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function respond(call: HttpRequest): Promise<IncomingMessage> {
  const { method, url, headers, body, timeoutMs, signal } = call;
  agents ??= { plain: new PlainAgent(KEEP), tls: new TlsAgent(KEEP) };
  const isTls = url.startsWith('https:');
  const request = isTls ? tlsRequest : plainRequest;
  const options = {
    method,
    agent: isTls ? agents.tls : agents.plain,
    headers: {
      ...headers,
      ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
    },
  };
  return new Promise((resolve, reject) => {
    if (signal?.aborted) throw calledOff();
    let answer: IncomingMessage | undefined;
    const sent = request(url, options, (response) => {
      answer = response;
      response.once('close', end);
      resolve(response);
    });
    /** Ends the request now: one that waits for a free connection tells of its error only when it gets one. */
    const stop = (error: Error) => {
      end();
      reject(error);
      answer?.destroy(error);
      sent.destroy(error);
    };
    const lastMs = Math.min(LAST_MS_MAX, timeoutMs / 2);
    let timer = setTimeout(() => {
      timer = setTimeout(() => stop(timedOut()), lastMs);
    }, timeoutMs - lastMs);
    let connecting: NodeJS.Timeout | undefined;
    sent.once('socket', (socket) => {
      if (!socket.connecting) return;
      connecting = setTimeout(() => stop(timedOut('connect')), CONNECT_MS_MAX);
      socket.once(isTls ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
    });
    const callOff = () => stop(calledOff());
    signal?.addEventListener('abort', callOff);
    const end = () => {
      clearTimeout(timer);
      clearTimeout(connecting);
      signal?.removeEventListener('abort', callOff);
    };
    const fail = (error: Error) => {
      // An answer that has begun tells itself how it ends.
      if (answer !== undefined) return;
      end();
      reject(error);
    };
    sent.on('error', fail);
    // An answer that is none, such as 101, closes the connection without an error.
    sent.once('close', () =>
      fail(failure('ECONNRESET', 'The connection ended without an answer.')),
    );
    sent.end(body);
  });
}

function calledOff(): Error {
  return failure('ABORT_ERR', 'The request was called off.');
}

/** `syscall` = `connect` where nothing was sent. */
function timedOut(syscall?: 'connect'): Error {
  return failure('ETIMEDOUT', 'No answer in time.', syscall);
}

function failure(code: string, message: string, syscall?: 'connect'): Error {
  return Object.assign(new Error(message), { code, syscall });
}
