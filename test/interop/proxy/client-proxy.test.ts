import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { ServiceBusClient } from '@azure/service-bus';
import { WebSocket } from 'ws';
import { DIRECT_RIGHTS } from '../../../cdk/functions.ts';
import { composeDirect } from '../../../connect/direct/open-direct.ts';
import { startClientProxy } from '../../../proxy/client-proxy.ts';
import { DrainNotice } from '../../../proxy/drain-notice.ts';
import type { RunningProxy } from '../../../proxy/start-proxy.ts';
import { makeCertificate } from '../../../server/tls/make-certificate.ts';
import { clientWithRights } from '../../support/rights-client.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { receive, receiveOne } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

const KEY = 'own-key-of-the-proxy';
const NO_RETRY = { retryOptions: { maxRetries: 0, timeoutInMs: 5000 } };

/** The client knows only `wss:`; this one leaves TLS out. */
class PlainWebSocket extends WebSocket {
  constructor(url: string, protocols?: string | string[]) {
    super(url.replace(/^wss:/, 'ws:'), protocols);
  }
}

describe('a proxy beside its clients', () => {
  const certificate = makeCertificate(Date.now());
  let namespace: TestNamespace;
  let proxy: RunningProxy;
  before(async () => {
    namespace = await startNamespace();
    proxy = await start();
    await administrationOf(namespace.connectionString).createQueue('orders');
  });
  after(async () => {
    await proxy.stop();
    await namespace.stop();
  });

  function start(withTls = true): Promise<RunningProxy> {
    const upstream = composeDirect(namespace.settings);
    const tls = withTls ? { certificate } : {};
    return startClientProxy({ upstream, key: KEY, host: '127.0.0.1', port: 0, ...tls });
  }

  function connectionString(keyName: string, key: string): string {
    return `Endpoint=sb://localhost:${proxy.port};SharedAccessKeyName=${keyName};SharedAccessKey=${key};UseDevelopmentEmulator=true;`;
  }

  test('its key opens the namespace; the root key of the deployment and unknown rules do not', async () => {
    const connect = (keyName: string, key: string) =>
      new ServiceBusClient(connectionString(keyName, key), NO_RETRY);
    const refused = [
      connect('RootManageSharedAccessKey', ROOT_KEY),
      connect('RootManageSharedAccessKey', ''.padEnd(KEY.length, 'x')),
      connect('unknown', KEY),
    ];
    for (const client of refused) {
      const sending = client.createSender('orders').sendMessages({ body: 'refused' });
      await assert.rejects(sending, { code: 'UnauthorizedAccess' });
    }
    const client = connect('RootManageSharedAccessKey', KEY);
    await client.createSender('orders').sendMessages({ body: 'taken' });
    const receiver = client.createReceiver('orders');
    const message = await receiveOne(receiver);
    assert.equal(message.body, 'taken');
    await receiver.completeMessage(message);
    for (const one of [...refused, client]) await one.close();
  });

  test('a web page cannot connect', async () => {
    const address = `ws://127.0.0.1:${proxy.port}/$servicebus/websocket`;
    const page = new WebSocket(address, 'amqp', { origin: 'https://example.com' });
    const [, answer] = await once(page, 'unexpected-response');
    assert.equal(answer.statusCode, 403);
    const program = new WebSocket(address, 'amqp');
    await once(program, 'open');
    program.terminate();
  });

  test('the rights of grantDirect are enough, also for rules of subscriptions and sessions', async (t) => {
    const denied: string[] = [];
    const client = clientWithRights(DIRECT_RIGHTS, (what) => denied.push(what));
    const upstream = composeDirect({ ...namespace.settings, client });
    const own = await startClientProxy({ upstream, key: KEY, host: '127.0.0.1', port: 0 });
    const bus = new ServiceBusClient(
      connectionString('RootManageSharedAccessKey', KEY).replace(/:\d+/, `:${own.port}`),
      NO_RETRY,
    );
    t.after(async () => {
      await bus.close();
      await own.stop();
      client.destroy();
    });
    const admin = administrationOf(namespace.connectionString);
    await admin.createTopic('events');
    await admin.createSubscription('events', 'all', { requiresSession: true });
    const rules = bus.createRuleManager('events', 'all');
    await rules.createRule('big', { sqlExpression: 'size > 1' });
    await rules.deleteRule('$Default');
    const properties = { sessionId: 'S', applicationProperties: { size: 2 } };
    const sender = bus.createSender('events');
    // A body that is stored beside its block, and one with a time.
    await sender.sendMessages([
      { ...properties, body: 'x'.repeat(200_000) },
      { ...properties, body: 'y' },
    ]);
    await sender.cancelScheduledMessages(
      await sender.scheduleMessages({ ...properties, body: 'z' }, new Date(Date.now() + 3_600_000)),
    );
    const seen = await bus.createReceiver('events', 'all').peekMessages(10);
    assert.deepEqual(
      seen.map(({ sessionId, body }) => [sessionId, String(body)[0]]),
      [
        ['S', 'x'],
        ['S', 'y'],
      ],
    );
    const session = await bus.acceptNextSession('events', 'all');
    await session.setSessionState('state');
    const [large, small] = await receive(session, 2);
    assert.ok(large?.sequenceNumber && small);
    await session.renewSessionLock();
    await session.deferMessage(large);
    const [deferred] = await session.receiveDeferredMessages(large.sequenceNumber);
    assert.ok(deferred);
    await session.completeMessage(deferred);
    await session.deadLetterMessage(small);
    await session.close();
    const dead = bus.createReceiver('events', 'all', { subQueueType: 'deadLetter' });
    await dead.completeMessage(await receiveOne(dead));
    assert.deepEqual(denied, []);
  });

  test('AMQP over WebSockets is on the same port', async () => {
    const client = new ServiceBusClient(connectionString('RootManageSharedAccessKey', KEY), {
      ...NO_RETRY,
      webSocketOptions: { webSocket: PlainWebSocket },
    });
    await client.createSender('orders').sendMessages({ body: 'by WebSocket' });
    const receiver = client.createReceiver('orders', { receiveMode: 'receiveAndDelete' });
    assert.equal((await receiveOne(receiver)).body, 'by WebSocket');
    await client.close();
  });

  test('TLS is on the same port with a certificate, and refused without', async () => {
    const secure = connectTls({
      port: proxy.port,
      ca: certificate.certificate,
      servername: 'localhost',
    });
    await once(secure, 'secureConnect');
    assert.equal(secure.authorized, true);
    secure.destroy();
    const plain = await start(false);
    const refused = connectTls({ port: plain.port, rejectUnauthorized: false });
    await assert.rejects(once(refused, 'secureConnect'));
    await plain.stop();
  });

  test('over HTTP it answers its health only', async () => {
    const address = `http://127.0.0.1:${proxy.port}`;
    const health = await fetch(`${address}/$health`);
    assert.deepEqual(
      [health.status, await health.json()],
      [200, { status: 'healthy', message: 'The proxy is healthy.' }],
    );
    for (const [method, path] of [
      ['GET', 'orders'],
      ['POST', 'orders/messages'],
      ['GET', ''],
      ['GET', '$openapi.json'],
    ] as const) {
      const answer = await fetch(`${address}/${path}`, { method });
      assert.equal(answer.status, 404);
      assert.match(
        await answer.text(),
        /administration clients .* go to the endpoint of the deployment\.\n$/,
      );
    }
  });

  test('from the notice of its end on it is not healthy, and then it takes no clients', async () => {
    const notice = new DrainNotice(0);
    const app = notice.watch({ fetch: () => new Response('as before') });
    const statusOf = async (path: string) =>
      (await app.fetch(new Request(`http://localhost${path}`))).status;
    assert.equal(await statusOf('/$health'), 200);
    await notice.give();
    assert.deepEqual([await statusOf('/$health'), await statusOf('/other')], [503, 200]);
    const ending = await start();
    await ending.stop();
    await assert.rejects(fetch(`http://127.0.0.1:${ending.port}/$health`));
  });
});
