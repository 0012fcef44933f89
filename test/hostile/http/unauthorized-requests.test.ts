import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { requestText } from '../../support/http-conversation.ts';
import { proxyHeader } from '../../support/proxy-header.ts';
import {
  askAll,
  mostInOneTurn,
  PROVING,
  serveCountingTurns,
} from '../../support/turn-counting-server.ts';

/** Row 27: concurrent requests of many unauthorized connections. */

const PER_TURN = BUDGETS.turnPiecesUnauthorized;
const CLIENTS = 100;
/** A turn also ends when its time is used up, so that on a busy machine another request may begin a turn later. */
const OVERTAKING_MAX = 3 * PER_TURN;

test('row 27: on unauthorized connections a few requests begin in each turn of the event loop', async (t) => {
  const { begun, clients } = await serveCountingTurns(t);
  const sockets = await clients(CLIENTS);
  await askAll(sockets);
  assert.equal(begun.length, CLIENTS);
  // Some begin when they are read, others later in the same turn.
  const most = mostInOneTurn(begun);
  assert.ok(most <= 2 * PER_TURN, `${most} in one turn`);
});

test('row 27: authorized connections do not wait for unauthorized ones', async (t) => {
  const { clients, overtaking } = await serveCountingTurns(t);
  const unauthorized = await clients(CLIENTS);
  const authorized = await clients(1, '', PROVING);
  await Promise.all([askAll(unauthorized), askAll(authorized, '/honest')]);
  const count = overtaking(authorized[0], '/honest');
  assert.ok(count <= OVERTAKING_MAX, `${count} unauthorized requests were before it`);
});

test('row 27: requests on one unauthorized connection keep their order', async (t) => {
  const { begun, clients } = await serveCountingTurns(t);
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

test('row 27: requests of a connection that was closed while they waited do not begin', async (t) => {
  const { begun, clients } = await serveCountingTurns(t);
  const sockets = await clients(CLIENTS);
  const [last] = sockets.slice(-1);
  const others = askAll(sockets.slice(0, -1));
  last?.write(requestText('GET /gone'));
  last?.resetAndDestroy();
  await others;
  assert.equal(begun.length, CLIENTS - 1);
});

test('row 27: health checks of the load balancer do not wait for unauthorized clients', async (t) => {
  const { clients, overtaking } = await serveCountingTurns(t, { isBehindLoadBalancer: true });
  const unauthorized = await clients(CLIENTS, proxyHeader('203.0.113.1'));
  const own = await clients(1);
  await Promise.all([askAll(unauthorized), askAll(own, '/$health')]);
  const count = overtaking(own[0], '/$health');
  assert.ok(count <= OVERTAKING_MAX, `${count} unauthorized requests were before it`);
});
