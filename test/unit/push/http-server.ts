import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { bracketIPv6 } from '../../../server/loopback.ts';

/** A request that a server has received. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers one request, or does worse to it. */
export type Answering = (response: ServerResponse, received: Received) => void;

/** A server on this machine, in the place of Lambda or of a server under development. */
export interface Listening {
  /** `http://`, the address and the port. */
  readonly url: string;
  readonly received: readonly Received[];
  /** Resolves when the next request has arrived. */
  arrival(): Promise<void>;
}

/** Starts a server that ends with the test. Throws if there is no such address. */
export async function listen(
  t: TestContext,
  answer: Answering,
  host = '127.0.0.1',
): Promise<Listening> {
  const received: Received[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(pieces).toString() };
      received.push(one);
      answer(response, one);
      for (const arrived of waiting.splice(0)) arrived();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://${bracketIPv6(host)}:${(server.address() as AddressInfo).port}`,
    received,
    arrival: () => new Promise((resolve) => waiting.push(resolve)),
  };
}

/** The address of a port of this machine on which nothing listens. */
export async function closedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** Answers as Lambda does when it has run the function. */
export const ran =
  (payload: string, headers: Readonly<Record<string, string>> = {}): Answering =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(payload);
  };

/** Answers as Lambda does when it has not run the function. */
export const refused =
  (status: number, type: string, message = 'because'): Answering =>
  (response) => {
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': type })
      .end(JSON.stringify({ Type: status < 500 ? 'User' : 'Service', message }));
  };
