import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** Passes requests on to an engine, and counts them by operation. */
export interface CountingRelay {
  readonly url: string;
  /** How often an operation was asked for, such as `GetRecords`. */
  count(operation: string): number;
  /** Resolves at the next request for an operation. */
  next(operation: string): Promise<void>;
}

/** Starts one in front of the engine at an address; it stops after the test. */
export async function startCountingRelay(t: TestContext, engine: string): Promise<CountingRelay> {
  const counts = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  const { hostname, port } = new URL(engine);
  const server = createServer((incoming, answer) => {
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1) ?? '';
    counts.set(operation, (counts.get(operation) ?? 0) + 1);
    waiting.get(operation)?.();
    const { method, headers, url } = incoming;
    const onward = request({ hostname, port, method, path: url, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: (operation) => counts.get(operation) ?? 0,
    next: (operation) =>
      new Promise((resolve) => {
        waiting.set(operation, resolve);
      }),
  };
}
