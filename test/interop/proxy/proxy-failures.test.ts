import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { ServiceBusClient, type ServiceBusReceiver } from '@azure/service-bus';
import { composeDirect } from '../../../connect/direct/open-direct.ts';
import { webSocketOf } from '../../../connect/in-process/web-socket.ts';
import { freePort } from '../../local/cli.ts';
import { LoadRandom, seedOfRun } from '../../support/load-random.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { receiveNow, receiveOne } from '../messaging/bus-entities.ts';
import { LOCK_MS, RestartLedger } from '../restart/restart-ledger.ts';
import { type Task, Workers } from '../restart/restart-workers.ts';
import { unrefMinuteTimers } from '../restart/unref-minute-timers.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { directSettings, type ProxyProcess, startProxyProcess } from './proxy-process.ts';

/** What clients see when their proxy ends or freezes. */

const SEED = seedOfRun();
const KEY = 'key-of-the-proxy';
/** How long a client waits for an answer, possibly lost with its connection, before it retries. */
const TRY_MS = 3000;
const WORK_MS_MAX = 60_000;
const NO_RENEWAL = { maxAutoLockRenewalDurationInMs: 0 };

const TASKS: readonly Task[] = [
  { role: 'send', entity: 'plain' },
  { role: 'send', entity: 'plain' },
  { role: 'pull', entity: 'plain' },
  { role: 'subscribe', entity: 'plain' },
  { role: 'send', entity: 'news' },
  { role: 'subscribe', entity: 'news', subscription: 'one' },
  { role: 'send', entity: 'in-sessions' },
  { role: 'session', entity: 'in-sessions' },
];
/** Messages before the end of the proxy. */
const MESSAGES = 30;

describe(`a proxy that ends or freezes (seed ${SEED})`, () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await startNamespace();
    await createEntities();
  });
  after(() => namespace.stop());

  /** Starts a proxy on a port. */
  async function start(t: TestContext, port: number): Promise<ProxyProcess> {
    return await startProxyProcess(t, ['--port', String(port)], {
      DYNABUS_DIRECT: directSettings(namespace),
      DYNABUS_PROXY_KEY: KEY,
    });
  }

  function connectionString(port: number): string {
    return `Endpoint=sb://localhost:${port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${KEY};UseDevelopmentEmulator=true;`;
  }

  /** Works through a proxy that ends and starts again on its port, and checks what became of all messages. */
  async function survive(t: TestContext, end: (proxy: ProxyProcess) => Promise<void>) {
    unrefMinuteTimers(t);
    const port = await freePort();
    const ledger = new RestartLedger();
    const proxy = await start(t, port);
    const random = new LoadRandom(`${SEED}:${t.name}`);
    const settings = { connectionString: connectionString(port), ledger, random, tryMs: TRY_MS };
    const workers = new Workers(settings, TASKS);
    try {
      await workers.untilAllWorked(WORK_MS_MAX);
      await workers.untilSent(ledger.sentCount + MESSAGES, WORK_MS_MAX);
      await end(proxy);
      workers.serverEnded();
      await start(t, port);
      await workers.untilAllWorked(WORK_MS_MAX);
    } finally {
      await workers.close();
    }
    await drain(ledger);
    t.diagnostic(`${ledger.sentCount} sent, ${ledger.completedCount} completed`);
    assert.deepEqual(ledger.violations, []);
    assert.deepEqual(ledger.unfinished, [], 'removed without having been completed');
    for (const entity of ['plain', 'news/one', 'in-sessions']) {
      const [prefix = ''] = entity.split('/');
      assert.deepEqual(ledger.unseen(entity, `${prefix}:`), [], 'lost although acknowledged');
    }
  }

  /** Receives and completes what is left by another process, by whose clock all locks have run out. */
  async function drain(ledger: RestartLedger): Promise<void> {
    const clock = { now: () => Date.now() + LOCK_MS };
    const webSocket = webSocketOf(composeDirect({ ...namespace.settings, clock }));
    const client = new ServiceBusClient(namespace.connectionString, {
      webSocketOptions: { webSocket },
    });
    const take = async (entity: string, receiver: ServiceBusReceiver, isSession: boolean) => {
      for (;;) {
        const messages = await receiver.receiveMessages(100, { maxWaitTimeInMs: 500 });
        if (messages.length === 0) return;
        for (const message of messages) {
          if (isSession) ledger.inSession(entity, message);
          else ledger.locked(entity, message);
          ledger.completing(entity, message);
          await receiver.completeMessage(message);
          ledger.completed(entity, message);
        }
      }
    };
    await take('plain', client.createReceiver('plain', NO_RENEWAL), false);
    await take('news/one', client.createReceiver('news', 'one', NO_RENEWAL), false);
    const admin = administrationOf(namespace.connectionString);
    const isLeft = async () =>
      (await admin.getQueueRuntimeProperties('in-sessions')).totalMessageCount !== 0;
    while (await isLeft()) {
      const session = await client.acceptNextSession('in-sessions');
      await take('in-sessions', session, true);
      await session.close();
    }
    await client.close();
    await webSocket.close();
  }

  async function createEntities(): Promise<void> {
    const admin = administrationOf(namespace.connectionString);
    const options = { lockDuration: `PT${LOCK_MS / 1000}S`, maxDeliveryCount: 1000 };
    await admin.createQueue('plain', options);
    await admin.createQueue('in-sessions', { ...options, requiresSession: true });
    await admin.createTopic('news');
    await admin.createSubscription('news', 'one', options);
  }

  test('after kill -9 nothing acknowledged is lost, nothing completed comes again, and clients go on', async (t) => {
    await survive(t, async ({ child, ended, errors }) => {
      child.kill('SIGKILL');
      assert.equal(await ended, 'SIGKILL');
      assert.equal(errors(), '');
    });
  });

  test('SIGTERM under load ends it with 0, and everything that it acknowledged is true', async (t) => {
    await survive(t, async ({ child, ended, errors, output }) => {
      child.kill('SIGTERM');
      assert.equal(await ended, 0, errors());
      assert.equal(errors(), '');
      assert.match(output(), /"message":"Stopped"\}\n$/);
    });
  });

  test('a proxy that was frozen for longer than a lock settles nothing that another client has', async (t) => {
    const admin = administrationOf(namespace.connectionString);
    await admin.createQueue('frozen', { lockDuration: 'PT5S' });
    const { child, port } = await start(t, 0);
    const client = new ServiceBusClient(connectionString(port));
    const other = new ServiceBusClient(namespace.connectionString);
    const sender = client.createSender('frozen');
    const receiver = client.createReceiver('frozen', NO_RENEWAL);
    await sender.sendMessages({ body: 'held' });
    const held = await receiveOne(receiver);
    child.kill('SIGSTOP');
    const sending = sender.sendMessages({ body: 'while frozen' });
    const elsewhere = other.createReceiver('frozen', NO_RENEWAL);
    // It waits until the lock has run out.
    const [again] = await elsewhere.receiveMessages(1, { maxWaitTimeInMs: 15_000 });
    assert.deepEqual([again?.body, again?.deliveryCount], ['held', 1]);
    child.kill('SIGCONT');
    await assert.rejects(receiver.completeMessage(held), { code: 'MessageLockLost' });
    assert.ok(again);
    await elsewhere.completeMessage(again);
    await sending;
    const next = await receiveOne(receiver);
    assert.deepEqual([next.body, next.deliveryCount], ['while frozen', 0]);
    await receiver.completeMessage(next);
    assert.deepEqual(await receiveNow(receiver), []);
    await Promise.all([client.close(), other.close()]);
  });
});
