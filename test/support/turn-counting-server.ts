import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { AmqpServer } from '../../amqp/service/amqp-server.ts';
import { createProtocolServer, type LoadBalancer } from '../../server/server.ts';
import { makeCertificate } from '../../server/tls/make-certificate.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { noteAuthorized } from '../../shared/domain/budgets/authorized-requests.ts';
import type { MemoryBudget } from '../../shared/domain/budgets/memory-budget.ts';
import { requestText } from './http-conversation.ts';
import { httpDependencies } from './http-fixture.ts';

/** Requests whose path begins with this are authorized. */
export const PROVING = '/proving';

interface Options {
  readonly isBehindLoadBalancer?: boolean;
  /** Whether clients speak TLS. */
  readonly isTls?: boolean;
  readonly memory?: MemoryBudget;
}

/** A server whose app records in which turn of the event loop each request began. */
export async function serveCountingTurns(
  t: TestContext,
  { isBehindLoadBalancer = false, isTls = false, memory }: Options = {},
) {
  let turn = 0;
  let next = setImmediate(function count() {
    turn++;
    next = setImmediate(count);
  });
  t.after(() => clearImmediate(next));
  const begun: { readonly path: string; readonly turn: number }[] = [];
  /** The turn in which each request head was parsed. */
  const parsed: { readonly turn: number }[] = [];
  /** By the port of its client: how many requests had begun when the next request of a connection was received. */
  const begunBefore = new Map<number | undefined, number>();
  const app = {
    fetch: (request: Request) => {
      const path = new URL(request.url).pathname;
      begun.push({ path, turn });
      if (path.startsWith(PROVING)) noteAuthorized(request);
      return new Response('answer');
    },
  };
  const dependencies = httpDependencies(memory && { memory });
  const scheduler = realScheduler;
  const gateway = new AmqpServer({
    ...dependencies,
    rules: undefined as never,
    scheduler,
    reportFault: assert.fail,
  });
  const limits = { open: () => () => {} } as unknown as LoadBalancer['limits'];
  const loadBalancer = isBehindLoadBalancer ? { limits, health: app, now: () => 0 } : undefined;
  const certificate = makeCertificate(Date.now());
  const server = createProtocolServer({
    app,
    memory: dependencies.memory,
    amqp: gateway,
    loadBalancer,
    certificate: () => certificate,
  });
  const { http } = server;
  http.prependListener('request', () => parsed.push({ turn }));
  http.prependListener('upgrade', () => parsed.push({ turn }));
  http.prependListener('connection', (socket: Socket) => {
    const { remotePort } = socket;
    socket.on('readable', () => {
      if (!begunBefore.has(remotePort)) begunBefore.set(remotePort, begun.length);
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.after(() => server.close());
  const address = http.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { port } = address;
  const open = (): Socket =>
    isTls
      ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect(port, '127.0.0.1');
  /** Clients that have each received one answer. `before` = bytes before their request. */
  const clients = async (count: number, before: Uint8Array | string = '', path = '/first') => {
    const all = Array.from({ length: count }, open);
    t.after(() => {
      for (const socket of all) socket.destroy();
    });
    for (const socket of all) {
      socket.on('error', () => {});
      socket.write(before);
      // The server takes the next request of the connection only then, which may be after the client has the answer.
      const closed = new Promise((resolve) =>
        http.once('request', (_, answer) => answer.once('close', resolve)),
      );
      await heard(socket, () => socket.write(requestText(`GET ${path}`)));
      await closed;
    }
    begun.length = 0;
    parsed.length = 0;
    begunBefore.clear();
    return all;
  };
  /** How many requests began between the receipt of a client's request and its own begin. */
  const overtaking = (client: Socket | undefined, path: string): number =>
    begun.findIndex((one) => one.path === path) - (begunBefore.get(client?.localPort) ?? 0);
  return { begun, parsed, clients, overtaking, port, http };
}

/** The largest number of requests that began in one turn. */
export function mostInOneTurn(begun: readonly { readonly turn: number }[]): number {
  const counts = new Map<number, number>();
  for (const one of begun) counts.set(one.turn, (counts.get(one.turn) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}

/** Calls `ask`, and resolves when the socket has received data. */
export async function heard(socket: Socket, ask: () => void): Promise<void> {
  const answer = once(socket, 'data');
  ask();
  await answer;
}

/** Sends a request of each client, and resolves when all are answered. */
export async function askAll(sockets: readonly Socket[], path = '/x'): Promise<void> {
  await Promise.all(
    sockets.map((socket) => heard(socket, () => socket.write(requestText(`GET ${path}`)))),
  );
}
