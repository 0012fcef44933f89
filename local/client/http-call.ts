import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';

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
}

/** An answer. */
export interface HttpAnswer {
  readonly status: number;
  /** The value of a header; undefined if there is none. */
  header(name: string): string | undefined;
  readonly text: string;
}

/** Tests may replace the timers of this process later. */
const { setTimeout, clearTimeout } = globalThis;

/** Connections are kept for the next request, as many as a command uses at once. */
const KEEP = { keepAlive: true, maxSockets: 64 } as const;
let agents: { readonly plain: PlainAgent; readonly tls: TlsAgent } | undefined;

/** Sends a request. Follows no redirect. Rejects with the error of the connection. */
export async function httpCall(call: HttpRequest): Promise<HttpAnswer> {
  const response = await respond(call);
  const { statusCode: status = 0, headers } = response;
  const chunks: Uint8Array[] = [];
  for await (const chunk of response) chunks.push(chunk as Uint8Array);
  return {
    status,
    header: (name) => {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    text: Buffer.concat(chunks).toString('utf8'),
  };
}

function respond(call: HttpRequest): Promise<IncomingMessage> {
  const { method, url, headers, body, timeoutMs } = call;
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
    const sent = request(url, options, (response) => {
      response.once('close', end);
      resolve(response);
    });
    const timer = setTimeout(() => sent.destroy(timedOut()), timeoutMs);
    const end = () => clearTimeout(timer);
    sent.once('error', (error) => {
      end();
      reject(error);
    });
    sent.end(body);
  });
}

function timedOut(): Error {
  return Object.assign(new Error('No answer in time.'), { code: 'ETIMEDOUT' });
}
