import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { RequestPieces } from '../../../server/http/request-pieces.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { KB } from '../../../shared/domain/units.ts';
import { requestText } from '../../support/http-conversation.ts';
import { mostInOneTurn, PROVING, serveCountingTurns } from '../../support/turn-counting-server.ts';

/** Row 27: one chunk of a connection may hold two thousand requests, and node:http begins all of them. */

const { turnPieces, turnPiecesUnauthorized } = BUDGETS;
/** The bytes of one read of a socket, and of a body in the test. */
const CHUNK_BYTES = 64 * KB;
const READ_BYTES = 16 * KB;
const UPGRADE = { Connection: 'Upgrade', Upgrade: 'websocket' };

/** Resolves when a socket has received this many answers, or is closed. */
async function answered(socket: Socket, count: number): Promise<number> {
  let text = '';
  let answers = 0;
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.setEncoding('latin1').on('data', (more) => {
      text += more;
      answers = text.split('HTTP/1.1 ').length - 1;
      if (answers >= count) resolve();
    });
  });
  return answers;
}

async function closed(socket: Socket | undefined): Promise<void> {
  if (socket) await new Promise((resolve) => socket.once('close', resolve));
}

const pipelined = (count: number, path: string) => requestText(`GET ${path}`).repeat(count);

for (const isTls of [false, true]) {
  test(`row 27: of pipelined requests${isTls ? ' within TLS' : ''}, a few are parsed in each turn`, async (t) => {
    const { begun, parsed, clients } = await serveCountingTurns(t, { isTls });
    const sockets = await clients(10);
    const each = 100;
    const all = Promise.all(sockets.map((socket) => answered(socket, each)));
    for (const socket of sockets) socket.write(pipelined(each, '/x'));
    await all;
    assert.equal(begun.length, sockets.length * each);
    // Some are parsed when they are read, others later in the same turn.
    const most = mostInOneTurn(parsed);
    assert.ok(most <= 2 * turnPiecesUnauthorized, `${most} in one turn`);
  });
}

test('row 27: on authorized connections more requests begin in each turn, but not all', async (t) => {
  const { parsed, clients } = await serveCountingTurns(t);
  const sockets = await clients(3 * turnPieces, '', PROVING);
  const all = Promise.all(sockets.map((socket) => answered(socket, 5)));
  for (const socket of sockets) socket.write(pipelined(5, PROVING));
  await all;
  const most = mostInOneTurn(parsed);
  assert.ok(most > 2 * turnPiecesUnauthorized, `${most} in one turn`);
  assert.ok(most <= 2 * turnPieces, `${most} in one turn`);
});

test('row 27: a connection with many requests does not delay connections with one', async (t) => {
  const { begun, clients } = await serveCountingTurns(t);
  const sockets = await clients(4 * turnPiecesUnauthorized);
  const [first] = sockets;
  assert.ok(first);
  const all = Promise.all(sockets.map((socket) => answered(socket, socket === first ? 500 : 1)));
  first.write(pipelined(500, '/many'));
  for (const socket of sockets.slice(1)) socket.write(pipelined(1, '/one'));
  await all;
  const last = begun.findLastIndex(({ path }) => path === '/one');
  assert.ok(last < 2 * sockets.length, `${last} requests were begun until all had one`);
});

test('row 27: of requests for WebSockets, a few are parsed in each turn', async (t) => {
  const { parsed, clients } = await serveCountingTurns(t);
  const sockets = await clients(100);
  const all = Promise.all(sockets.map((socket) => answered(socket, 1)));
  for (const socket of sockets) socket.write(requestText('GET /elsewhere', UPGRADE));
  await all;
  assert.equal(parsed.length, sockets.length);
  const most = mostInOneTurn(parsed);
  assert.ok(most <= 2 * turnPiecesUnauthorized, `${most} in one turn`);
});

test('row 27: a request that node:http itself answers counts as any other', async (t) => {
  const { clients } = await serveCountingTurns(t);
  const [socket] = await clients(1);
  assert.ok(socket);
  const answers = answered(socket, 60);
  socket.write(requestText('GET /x', { Expect: 'nothing' }).repeat(60));
  assert.equal(await answers, 60);
});

test('row 27: a body is not parsed ahead of its reader', async (t) => {
  const { http, clients } = await serveCountingTurns(t);
  const [socket] = await clients(1);
  const body = 'x'.repeat(512 * KB);
  let ahead = 0;
  let read = 0;
  // Replaces the app, which would answer.
  http.removeAllListeners('request');
  http.on('request', (request) => {
    const next = setInterval(() => {
      ahead = Math.max(ahead, request.readableLength);
      read += request.read(Math.min(READ_BYTES, request.readableLength))?.length ?? 0;
      if (read === body.length) request.socket.destroy();
    }, 1);
    request.on('close', () => clearInterval(next));
  });
  socket?.write(requestText('POST /x', {}, body));
  await closed(socket);
  assert.ok(ahead > 0 && ahead <= CHUNK_BYTES + READ_BYTES, `${ahead} bytes`);
  assert.equal(read, body.length);
});

test('row 27: input that unauthorized clients send ahead takes no room from an authorized client', async (t) => {
  const memory = new MemoryBudget(8 * 64 * KB);
  const { clients, begun } = await serveCountingTurns(t, { memory });
  const [honest] = await clients(1, '', PROVING);
  assert.ok(honest);
  // The room of all unauthorized clients together.
  assert.ok(memory.openUnauthorized(64 * KB, assert.fail).hold(64 * KB));
  const answers = answered(honest, 50);
  honest.write(pipelined(50, PROVING));
  assert.equal(await answers, 50);
  assert.equal(begun.length, 50);
});

test('row 27: unauthorized clients that send far ahead are disconnected when their room is full', async (t) => {
  const memory = new MemoryBudget(8 * 16 * KB);
  const { clients } = await serveCountingTurns(t, { memory });
  const [socket] = await clients(1);
  socket?.write(pipelined(2000, '/x'));
  await closed(socket);
  assert.equal(memory.held, 0);
});

test('row 27: the header fields of a request count until it is answered', async (t) => {
  const memory = new MemoryBudget(8 * 16 * KB);
  const { clients, begun } = await serveCountingTurns(t, { memory });
  const [socket] = await clients(1);
  const fields = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`a${index}`, '']));
  socket?.write(requestText('GET /x', fields));
  await closed(socket);
  assert.equal(begun.length, 0);
  assert.equal(memory.held, 0);
});

test('a piece ends where the head of a request does, in whatever chunks its bytes arrive', () => {
  const heads = [
    'GET /a HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /b HTTP/1.1\nHost: x\n\n',
    // A line break before a request.
    '\r\n',
    'GET /c HTTP/1.0\r\n\r\n',
  ];
  const bytes = Buffer.from(heads.join(''));
  for (let size = 1; size <= bytes.length; size++) {
    const pieces = new RequestPieces();
    const ends: number[] = [];
    let at = 0;
    while (at < bytes.length) {
      at += pieces.next(bytes.subarray(at, at + size)).length;
      ends.push(at);
    }
    let end = 0;
    for (const head of heads) {
      end += head.length;
      assert.ok(ends.includes(end), `${head} in pieces of ${size}`);
    }
    if (size === bytes.length) assert.equal(ends.length, heads.length);
  }
});
