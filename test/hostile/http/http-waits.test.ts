import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';
import type { TestBroker } from '../../support/test-broker.ts';

/** Row 12, and waits whose client has disconnected, so that no receiver would get the messages. */

const keyName = 'RootManageSharedAccessKey';

function tokenFor(bus: TestBroker, seconds: number): string {
  const audience = `${bus.api.url}/q`;
  const expiresAt = bus.clock.now() + 1000 * seconds;
  return createSasToken({ audience, keyName, key: ROOT_KEY, expiresAt });
}

/** Makes clients send a request, wait, and disconnect. */
async function askAndGo(bus: TestBroker, method: string, path: string): Promise<void> {
  const { port } = new URL(bus.api.url);
  const head = `${method} /${path}?timeout=60 HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: ${tokenFor(bus, 600)}\r\nContent-Length: 0\r\n\r\n`;
  const sockets = Array.from({ length: 5 }, () => connect(Number(port), '127.0.0.1'));
  for (const socket of sockets) socket.write(head);
  // All wait now.
  for (let round = 0; round < 5; round++) await bus.request('GET', 'q');
  for (const socket of sockets) {
    socket.destroy();
    await once(socket, 'close');
  }
  for (let round = 0; round < 5; round++) await bus.request('GET', 'q');
}

test('row 12: messages are not deleted for receivers that have disconnected', async (t) => {
  const bus = await startBroker(t);
  await bus.createQueue('q');
  await askAndGo(bus, 'DELETE', 'q/messages/head');
  for (let i = 0; i < 5; i++) await bus.send('q', `message ${i}`);
  for (let i = 0; i < 5; i++) {
    assert.equal((await bus.receiveAndDelete('q'))?.body, `message ${i}`);
  }
});

test('row 12: a session is not locked for clients that have disconnected', async (t) => {
  const bus = await startBroker(t);
  await bus.createQueue('q', { RequiresSession: 'true' });
  await askAndGo(bus, 'POST', 'q/sessions/$accept');
  await bus.send('q', 'for whom?', { SessionId: 's' });
  assert.equal((await bus.request('POST', 'q/sessions/$accept?timeout=0')).status, 201);
});

test('row 12: a client that waits for a session gets none once its token has expired', async (t) => {
  const bus = await startBroker(t);
  await bus.createQueue('q', { RequiresSession: 'true' });
  const waiting = bus.request('POST', 'q/sessions/$accept?timeout=60', {
    authorization: tokenFor(bus, 30),
  });
  // It waits now.
  for (let round = 0; round < 5; round++) await bus.request('GET', 'q');
  bus.clock.advance({ seconds: 31 });
  await bus.send('q', 'late', { SessionId: 's' });
  const answer = await waiting;
  assert.equal(answer.status, 401, answer.text);
  assert.match(answer.text, /40106/);
  assert.equal((await bus.request('POST', 'q/sessions/$accept?timeout=0')).status, 201);
});
