import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Gateway } from '../../amqp/service/gateway.ts';
import { realScheduler } from '../../lambdas/http/real-scheduler.ts';
import { createProtocolServer, type LoadBalancer } from '../../server/server.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { noteProvedRight } from '../../shared/domain/proved-requests.ts';
import { requestText } from '../support/http-conversation.ts';
import { httpParts } from '../support/http-fixture.ts';
import { proxyHeader } from '../support/proxy-header.ts';

/** Row 27: requests of many connections at once, none of which has proved a right. */

const PER_TURN = BUDGETS.turnRequestsBeforeRight;
const CLIENTS = 100;
const PROVING = '/proving';

/** A server whose app tells in which turn of the event loop each request began. */
async function serve(t: TestContext, behindLoadBalancer = false) {
  let turn = 0;
  let next = setImmediate(function count() {
    turn++;
    next = setImmediate(count);
  });
  t.after(() => clearImmediate(next));
  const begun: { readonly path: string; readonly turn: number }[] = [];
  const app = {
    fetch: (request: Request) => {
      const path = new URL(request.url).pathname;
      begun.push({ path, turn });
      if (path === PROVING) noteProvedRight(request);
      return new Response('answer');
    },
  };
  const parts = httpParts();
  const scheduler = realScheduler;
  const gateway = new Gateway({
    ...parts,
    rules: undefined as never,
    scheduler,
    reportFault: assert.fail,
  });
  const limits = { open: () => () => {} } as unknown as LoadBalancer['limits'];
  const loadBalancer = behindLoadBalancer ? { limits, health: app, now: () => 0 } : undefined;
  const server = createProtocolServer({ app, memory: parts.memory, gateway, loadBalancer });
  const { http } = server;
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.after(() => server.close());
  const address = http.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { port } = address;
  const clients = async (count: number, first: Uint8Array | string = '') => {
    const all = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
    t.after(() => {
      for (const socket of all) socket.destroy();
    });
    for (const socket of all) {
      socket.on('error', () => {});
      socket.write(first);
      await heard(socket, () => socket.write(requestText('GET /first')));
    }
    begun.length = 0;
    return all;
  };
  const most = () => {
    const counts = new Map<number, number>();
    for (const one of begun) counts.set(one.turn, (counts.get(one.turn) ?? 0) + 1);
    return Math.max(...counts.values());
  };
  return { begun, clients, most };
}

/** Resolves when a socket has heard something. */
async function heard(socket: Socket, ask: () => void): Promise<void> {
  const answer = once(socket, 'data');
  ask();
  await answer;
}

const askAll = (sockets: readonly Socket[], path = '/x') =>
  Promise.all(
    sockets.map((socket) => heard(socket, () => socket.write(requestText(`GET ${path}`)))),
  );

test('row 27: of connections without a right a few requests begin in each turn of the event loop', async (t) => {
  const { begun, clients, most } = await serve(t);
  const sockets = await clients(CLIENTS);
  await askAll(sockets);
  assert.equal(begun.length, CLIENTS);
  // Some begin when they are read, others behind that in the same turn.
  assert.ok(most() <= 2 * PER_TURN, `${most()} in one turn`);
});

test('row 27: connections with a right do not wait for those without', async (t) => {
  const { begun, clients } = await serve(t);
  const strangers = await clients(CLIENTS);
  const proved = await clients(1);
  await askAll(proved, PROVING);
  begun.length = 0;
  await Promise.all([askAll(strangers), askAll(proved, '/honest')]);
  const place = begun.findIndex(({ path }) => path === '/honest');
  assert.ok(place <= 2 * PER_TURN, `${place} strangers were before it`);
});

test('row 27: requests on one connection without a right keep their order', async (t) => {
  const { begun, clients } = await serve(t);
  const [socket] = await clients(1);
  const paths = Array.from({ length: 3 * PER_TURN }, (_, index) => `/${index}`);
  let text = '';
  const all = new Promise<void>((resolve) => {
    socket?.setEncoding('latin1').on('data', (piece) => {
      text += piece;
      if (text.split('HTTP/1.1 200').length > paths.length) resolve();
    });
  });
  socket?.write(paths.map((path) => requestText(`GET ${path}`)).join(''));
  await all;
  assert.deepEqual(
    begun.map(({ path }) => path),
    paths,
  );
});

test('row 27: a connection that was closed while it waited has nothing begun', async (t) => {
  const { begun, clients } = await serve(t);
  const sockets = await clients(CLIENTS);
  const [last] = sockets.slice(-1);
  const others = askAll(sockets.slice(0, -1));
  last?.write(requestText('GET /gone'));
  last?.resetAndDestroy();
  await others;
  assert.equal(begun.length, CLIENTS - 1);
});

test('row 27: health checks of the load balancer do not wait for strangers', async (t) => {
  const { begun, clients } = await serve(t, true);
  const strangers = await clients(CLIENTS, proxyHeader('203.0.113.1'));
  const own = await clients(1);
  await Promise.all([askAll(strangers), askAll(own, '/$health')]);
  const place = begun.findIndex(({ path }) => path === '/$health');
  assert.ok(place <= 2 * PER_TURN, `${place} strangers were before it`);
});
