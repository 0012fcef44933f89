import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ServiceBusReceiver, ServiceBusSender } from '@azure/service-bus';
import { ServiceBusClient } from 'service-bus-beta';
import { WebSocket } from 'ws';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { startNamespaceCli } from '../../local/cli.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import {
  COORDINATOR,
  dataMessage,
  dataOf,
  inTransaction,
  RawSession,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { ADMINISTRATION_CLIENTS, administrationOf } from '../administration/admin-clients.ts';
import { type STABLE, VERSION_IN_FULL } from '../versions.ts';
import { receiveOne } from './bus-entities.ts';
import { BUS_CLIENTS } from './service-bus-clients.ts';

/** The clock of the local server is that of messages: to move it ends no client. */

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const MINUTE_MS = 60_000;

/** The local server as users start it, and how they move its clock. */
async function startLocal(t: TestContext) {
  const { url } = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'] });
  const { host, port } = new URL(url);
  const connectionString = `Endpoint=sb://${host};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${ROOT_KEY};UseDevelopmentEmulator=true;`;
  const advance = async (advanceSeconds: number) => {
    const response = await fetch(`${url}/$clock`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ advanceSeconds }),
    });
    assert.equal(response.status, 200);
  };
  return { port: Number(port), connectionString, advance };
}

test(`a developer moved the clock on by two hours, and administration client ${VERSION_IN_FULL} got 401`, async (t) => {
  const { connectionString, advance } = await startLocal(t);
  const connect = ADMINISTRATION_CLIENTS[VERSION_IN_FULL];
  const existing = connect(connectionString);
  await existing.createQueue('before');
  await advance(2 * HOUR_S);
  assert.equal((await existing.getQueue('before')).name, 'before');
  await connect(connectionString).createQueue('after');
  await advance(30 * DAY_S);
  await existing.deleteQueue('after');
});

test('the ends of locks are told by the clock of the machine, by which clients renew', async (t) => {
  const { connectionString, advance } = await startLocal(t);
  const admin = administrationOf(connectionString);
  await admin.createQueue('plain', { lockDuration: 'PT30S' });
  await admin.createQueue('sessions', { requiresSession: true, lockDuration: 'PT30S' });
  await advance(HOUR_S);
  const bus = BUS_CLIENTS[VERSION_IN_FULL](connectionString);
  t.after(() => bus.close());
  const told = (what: string, end: Date | undefined) => {
    const leftMs = (end?.getTime() ?? 0) - Date.now();
    assert.ok(leftMs > 0 && leftMs <= 30_000, `${what}: ${leftMs} ms`);
  };

  await bus.createSender('plain').sendMessages({ body: 'x' });
  const receiver = bus.createReceiver('plain');
  const message = await receiveOne(receiver);
  told('a delivery', message.lockedUntilUtc);
  told('a renewed message', await receiver.renewMessageLock(message));
  await receiver.deferMessage(message);
  const [deferred] = await receiver.receiveDeferredMessages(message.sequenceNumber ?? []);
  told('a deferred message', deferred?.lockedUntilUtc);

  await bus.createSender('sessions').sendMessages({ body: 'x', sessionId: 's' });
  const session = await bus.acceptSession('sessions', 's');
  told('an accepted session', session.sessionLockedUntilUtc);
  told('a message of a session', (await receiveOne(session)).lockedUntilUtc);
  told('a renewed session', await session.renewSessionLock());
  await advance(HOUR_S);
  await assert.rejects(session.renewSessionLock(), { code: 'SessionLockLost' });
});

/** Sends and receives one message. */
async function useBus(sender: ServiceBusSender, receiver: ServiceBusReceiver, body: string) {
  await sender.sendMessages({ body });
  const message = await receiveOne(receiver);
  assert.equal(message.body, body);
  await receiver.completeMessage(message);
}

/** The client knows only `wss:`; this one leaves TLS out. */
class PlainWebSocket extends WebSocket {
  constructor(url: string, protocols?: string | string[]) {
    super(url.replace(/^wss:/, 'ws:'), protocols);
  }
}

const overWebSocket = (connectionString: string) =>
  new ServiceBusClient(connectionString, {
    webSocketOptions: { webSocket: PlainWebSocket },
    retryOptions: { maxRetries: 0 },
  }) as unknown as ReturnType<(typeof BUS_CLIENTS)[typeof STABLE]>;

for (const [name, connect] of Object.entries({
  [VERSION_IN_FULL]: BUS_CLIENTS[VERSION_IN_FULL],
  WebSocket: overWebSocket,
})) {
  test(`a developer moved the clock on by two hours, and no AMQP client could connect until a restart: ${name}`, async (t) => {
    const { connectionString, advance } = await startLocal(t);
    await administrationOf(connectionString).createQueue('q');
    const existing = connect(connectionString);
    const links = [existing.createSender('q'), existing.createReceiver('q')] as const;
    await useBus(...links, 'before');
    for (const seconds of [2 * HOUR_S, 30 * DAY_S]) {
      await advance(seconds);
      await useBus(...links, `after ${seconds} s`);
      const another = connect(connectionString);
      await useBus(another.createSender('q'), another.createReceiver('q'), 'of another client');
      await another.close();
    }
    await existing.close();
  });
}

test('a connection with links and an open transaction survives a clock that is moved on by 30 days', async (t) => {
  const { port, connectionString, advance } = await startLocal(t);
  await administrationOf(connectionString).createQueue('q');
  const session = RawSession.root(port);
  t.after(() => session.raw.destroy());
  const coordinator = await session.sender(COORDINATOR);
  const sender = await session.sender(targetOf('q'));
  const { handle } = await session.receiver(sourceOf('q'));
  session.credit(handle, 1);
  const id = await session.declare(coordinator);
  await session.send(sender, dataMessage('in the transaction'), { state: inTransaction(id) });
  await advance(30 * DAY_S);
  assert.equal((await session.discharge(coordinator, id, false))?.kind, 'accepted');
  const transfer = await session.raw.hear('transfer');
  assert.equal(dataOf(transfer.payload), 'in the transaction');
});

test('a token expires by the clock of tokens, over HTTP and AMQP, and not by that of messages', async (t) => {
  const tokenClock = new ManualClock();
  const broker = await startBroker(t, { tokenClock });
  expectStatus(await broker.createQueue('q'), 201);
  const { url } = broker.api;
  const token = createSasToken({
    audience: `${url}/q`,
    keyName: 'RootManageSharedAccessKey',
    key: ROOT_KEY,
    expiresAt: tokenClock.now() + MINUTE_MS,
  });
  const statusOverHttp = async () => {
    const response = await fetch(`${url}/q/messages/head?timeout=0`, {
      method: 'DELETE',
      headers: { authorization: token },
    });
    return response.status;
  };
  const session = new RawSession(RawAmqp.opened(Number(new URL(url).port), 'ANONYMOUS'));
  t.after(() => session.raw.destroy());
  assert.equal(await session.putToken(token, 'sb://localhost/q'), 202);
  const { handle } = await session.receiver(sourceOf('q'));

  broker.clock.advance({ days: 30 });
  assert.equal(await statusOverHttp(), 204);
  assert.equal(await session.putToken(token, 'sb://localhost/q'), 202);
  expectStatus(await broker.send('q', 'early'), 201);
  session.credit(handle, 1);
  assert.equal(dataOf((await session.raw.hear('transfer')).payload), 'early');

  tokenClock.advance({ ms: MINUTE_MS });
  assert.equal(await statusOverHttp(), 401);
  assert.equal(await session.putToken(token, 'sb://localhost/q'), 401);
});
