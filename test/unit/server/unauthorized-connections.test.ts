import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { UnauthorizedConnections } from '../../../server/unauthorized-connections.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';

const { otherConnectionsUnauthorized } = BUDGETS.process;

test('a new unauthorized connection replaces the oldest one; authorized connections stay', async () => {
  const connections = new UnauthorizedConnections();
  const [authorized, oldest, ended] = [new PassThrough(), new PassThrough(), new PassThrough()];
  for (const socket of [authorized, oldest, ended]) connections.add(socket);
  connections.delete(authorized);
  ended.destroy();
  await once(ended, 'close');
  const others = Array.from({ length: otherConnectionsUnauthorized }, () => new PassThrough());
  for (const socket of others.slice(1)) connections.add(socket);
  assert.ok(!oldest.destroyed);
  const [last = new PassThrough()] = others;
  connections.add(last);
  assert.ok(oldest.destroyed);
  assert.ok(![authorized, ...others].some(({ destroyed }) => destroyed));
});

test('a connection that has already closed does not count', async () => {
  const connections = new UnauthorizedConnections();
  const gone = new PassThrough();
  gone.destroy();
  await once(gone, 'close');
  connections.add(gone);
  const live = Array.from({ length: otherConnectionsUnauthorized + 1 }, () => new PassThrough());
  for (const socket of live) connections.add(socket);
  assert.deepEqual(
    live.flatMap(({ destroyed }, place) => (destroyed ? [place] : [])),
    [0],
  );
});

test('input that waits for a turn is dropped with its connection', async () => {
  const connections = new UnauthorizedConnections(() => 0);
  const parsed: number[] = [];
  const sockets = Array.from({ length: 100 }, () => new PassThrough());
  for (const [place, socket] of sockets.entries()) {
    connections.add(socket);
    connections.pace(socket, () => parsed.push(place));
  }
  const last = sockets.length - 1;
  for (const socket of sockets.slice(0, last)) socket.destroy();
  for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
  assert.equal(parsed.at(-1), last);
  assert.ok(parsed.length <= 3 * BUDGETS.turnPiecesUnauthorized, `${parsed.length} were parsed`);
});

for (const [who, isAuthorized, ms] of [
  ['unauthorized clients', false, BUDGETS.turnPiecesUnauthorizedMs],
  ['authorized clients', true, BUDGETS.turnPiecesMs],
] as const) {
  test(`row 27: of slowly parsed pieces of ${who}, few are parsed in each turn`, async () => {
    let now = 0;
    const connections = new UnauthorizedConnections(() => now);
    const perTurn = [0];
    const count = 3 * ms;
    let parsed = 0;
    for (let i = 0; i < count; i++) {
      const socket = new PassThrough();
      if (!isAuthorized) connections.add(socket);
      connections.pace(socket, () => {
        parsed++;
        perTurn.push((perTurn.pop() ?? 0) + 1);
        now++;
      });
    }
    do {
      perTurn.push(0);
      await new Promise(setImmediate);
    } while (parsed < count);
    assert.equal(Math.max(...perTurn), ms);
  });
}
