import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Send } from './api-client.ts';

const agent = new Agent({ keepAlive: true });

/** Sends requests as `fetch` does, for about half of its processor time. */
export const sendOverHttp: Send = async (url, { method, headers, body }) => {
  // Node declares no length for the body of a DELETE by itself.
  const length = body && { 'content-length': String(body.byteLength) };
  const sent = request(url, { agent, method, headers: { ...headers, ...length } }).end(body);
  // A refused body may not be read to its end, so writing the rest of it may fail after the response.
  sent.on('error', () => {});
  const [response]: [IncomingMessage] = (await once(sent, 'response')) as [IncomingMessage];
  const bytes = await buffer(response);
  const fields = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(fields),
    arrayBuffer: async () => bytes,
  };
};
