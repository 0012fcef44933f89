import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import {
  ServiceBusAdministrationClient,
  ServiceBusClient,
  type ServiceBusReceivedMessage,
} from '@azure/service-bus';
import { WebSocket } from 'ws';
import { createSasToken } from '../../lambdas/http/sas-token.ts';
import { VARIABLES } from '../../lambdas/http/variables.ts';
import { administrationOf } from './admin-clients.ts';
import { receiveOne } from './bus-entities.ts';
import { type GatewayTasks, prepareTasks, ROOT_KEY } from './gateway-task.ts';
import { type LoadBalancer, startLoadBalancer } from './load-balancer.ts';

const KEY_NAME = 'RootManageSharedAccessKey';
/** What ECS grants, less the notice, which is none here. */
const STOP_MS_MAX = 20_000;
const RSS_MEGABYTES_MAX = 250;

const connectionString = (port: number, rest = '') =>
  `Endpoint=sb://localhost:${port};SharedAccessKeyName=${KEY_NAME};SharedAccessKey=${ROOT_KEY};${rest}`;
const plain = (port: number) => connectionString(port, 'UseDevelopmentEmulator=true;');
const clientOf = (port: number) =>
  new ServiceBusClient(plain(port), { retryOptions: { retryDelayInMs: 100 } });
/** What a call over HTTP needs. */
const addressed = (port: number, path: string) => {
  const audience = `http://localhost:${port}/`;
  const expiresAt = Date.now() + 60_000;
  const authorization = createSasToken({ audience, keyName: KEY_NAME, key: ROOT_KEY, expiresAt });
  return { url: `${audience}${path}`, headers: { authorization } };
};
const health = (port: number) => fetch(`http://127.0.0.1:${port}/$health`);

describe('the gateway as it is deployed', () => {
  let tasks: GatewayTasks;
  let balancer: LoadBalancer;
  before(async () => {
    [tasks, balancer] = await Promise.all([prepareTasks(), startLoadBalancer()]);
  });
  after(() => {
    balancer.stop();
    tasks.stop();
  });

  test('one connection string serves management and messages, behind TLS', async () => {
    const task = await tasks.start();
    balancer.lead(task.port);
    const { tlsPort, certificate: ca } = balancer;
    const admin = new ServiceBusAdministrationClient(connectionString(tlsPort), {
      tlsOptions: { ca },
    });
    await admin.createQueue('over-tls');
    class TrustingWebSocket extends WebSocket {
      constructor(url: string, protocols?: string | string[]) {
        super(url, protocols, { ca });
      }
    }
    const client = new ServiceBusClient(connectionString(tlsPort), {
      webSocketOptions: { webSocket: TrustingWebSocket },
    });
    await client.createSender('over-tls').sendMessages({ body: 'through' });
    const receiver = client.createReceiver('over-tls');
    const message = await receiveOne(receiver);
    assert.equal(message.body, 'through');
    await receiver.completeMessage(message);
    const { activeMessageCount } = await admin.getQueueRuntimeProperties('over-tls');
    assert.equal(activeMessageCount, 0);
    await client.close();
  });

  test('addresses that it tells begin as clients call it, with https', async () => {
    const task = await tasks.start();
    await administrationOf(plain(task.port)).createQueue('located');
    const { url, headers } = addressed(task.port, 'located/messages');
    await fetch(url, { method: 'POST', headers, body: 'one' });
    const { headers: told } = await fetch(`${url}/head`, { method: 'POST', headers });
    assert.match(told.get('location') ?? '', /^https:\/\/localhost:\d+\/located\/messages\/1\//);
  });

  test('any task serves any client: what one takes in another hands out', async () => {
    const [one, other] = await Promise.all([tasks.start(), tasks.start()]);
    await administrationOf(plain(one.port)).createQueue('shared');
    const [sending, receiving] = [clientOf(one.port), clientOf(other.port)];
    const receiver = receiving.createReceiver('shared');
    const waiting = receiveOne(receiver);
    await sending.createSender('shared').sendMessages({ body: 'across' });
    const message = await waiting;
    assert.equal(message.body, 'across');
    await receiver.completeMessage(message);
    assert.deepEqual(await sending.createReceiver('shared').peekMessages(1), []);
    await Promise.all([sending.close(), receiving.close()]);
  });

  test('clients of a task that stops go on with another, and nothing acknowledged is lost', async (t) => {
    const [one, other] = await Promise.all([tasks.start(), tasks.start()]);
    balancer.lead(one.port);
    await administrationOf(plain(one.port)).createQueue('kept');
    const [sending, receiving] = [clientOf(balancer.port), clientOf(balancer.port)];
    const received = new Set<unknown>();
    const acknowledged = new Set<number>();
    let look = () => {};
    const until = (isThere: () => boolean) =>
      new Promise<void>((resolve) => {
        look = () => isThere() && resolve();
        look();
      });
    receiving.createReceiver('kept').subscribe(
      {
        processMessage: async ({ body }: ServiceBusReceivedMessage) => {
          received.add(body);
          look();
        },
        // That the connection ended is told; the client connects again by itself.
        processError: async () => {},
      },
      { maxConcurrentCalls: 20 },
    );
    const sender = sending.createSender('kept');
    let number = 0;
    let mayGoOn = true;
    const sendAll = async () => {
      while (mayGoOn) {
        const body = number++;
        // What is refused was not acknowledged; the client has tried several times by then.
        await sender.sendMessages({ body }).then(
          () => acknowledged.add(body),
          () => {},
        );
        look();
      }
    };
    const lines = Promise.all(Array.from({ length: 5 }, sendAll));
    await until(() => received.size >= 20);

    // Deregistered first, as ECS does it.
    balancer.lead(other.port);
    const signalledAt = performance.now();
    one.child.kill('SIGTERM');
    assert.equal(await one.ended, 0);
    const stopMs = performance.now() - signalledAt;
    assert.ok(stopMs < STOP_MS_MAX, `${stopMs} ms`);

    const before = number;
    await until(() => [...acknowledged].some((body) => body >= before + 20));
    mayGoOn = false;
    await lines;
    const resumedMs = performance.now() - signalledAt - stopMs;
    await until(() => [...acknowledged].every((body) => received.has(body)));
    await Promise.all([sending.close(), receiving.close()]);
    t.diagnostic(
      `stopped in ${stopMs.toFixed()} ms, then 20 more were sent in ${resumedMs.toFixed()} ms; ${number - acknowledged.size} refused`,
    );
  });

  test('a batch that waits at a task that stops comes from another', async () => {
    const [one, other] = await Promise.all([tasks.start(), tasks.start()]);
    balancer.lead(one.port);
    await administrationOf(plain(one.port)).createQueue('waiting');
    const client = clientOf(balancer.port);
    const receiver = client.createReceiver('waiting');
    // The link is there once this has come back.
    assert.deepEqual(await receiver.receiveMessages(1, { maxWaitTimeInMs: 1 }), []);
    const waiting = receiveOne(receiver);
    balancer.lead(other.port);
    one.child.kill('SIGTERM');
    assert.equal(await one.ended, 0);
    const sending = clientOf(balancer.port);
    await sending.createSender('waiting').sendMessages({ body: 'late' });
    assert.equal((await waiting).body, 'late');
    await Promise.all([client.close(), sending.close()]);
  });

  test('a task that is told to stop says so, and serves on until all have heard', async () => {
    const task = await tasks.start({ env: { DRAIN_NOTICE_MS: '1500' } });
    assert.equal((await health(task.port)).status, 200);
    task.child.kill('SIGTERM');
    await task.untilSaid('Draining');
    assert.equal((await health(task.port)).status, 503);
    await administrationOf(plain(task.port)).createQueue('in-time');
    const client = clientOf(task.port);
    await client.createSender('in-time').sendMessages({ body: 'in time' });
    await client.close();
    assert.equal(await task.ended, 0);
    assert.deepEqual(
      task.lines().flatMap(({ message }) => (message === undefined ? [] : [message])),
      ['Started', 'Draining', 'Stopped'],
    );
  });

  test('neither a connection that says nothing nor a request that waits holds up the end', async () => {
    const task = await tasks.start();
    await administrationOf(plain(task.port)).createQueue('quiet');
    const silent = connect(task.port, '127.0.0.1');
    await once(silent, 'connect');
    const { url, headers } = addressed(task.port, 'quiet/messages/head?timeout=60');
    const waiting = fetch(url, { method: 'DELETE', headers });
    await health(task.port);
    const signalledAt = performance.now();
    task.child.kill('SIGTERM');
    assert.equal((await waiting).status, 204);
    assert.equal(await task.ended, 0);
    assert.ok(performance.now() - signalledAt < STOP_MS_MAX);
  });

  test('a task that cannot read the root key, or its tables, does not begin to serve', async () => {
    for (const name of ['AWS_ENDPOINT_URL_SECRETS_MANAGER', 'AWS_ENDPOINT_URL_DYNAMODB']) {
      const task = tasks.launch({ env: { [name]: 'http://127.0.0.1:9' } });
      assert.equal(await task.ended, 1);
      assert.deepEqual(
        task.lines().map(({ level }) => level),
        ['error'],
      );
    }
  });

  test('a fault has a tracking id, which the client is told and the log has', async () => {
    const good = await tasks.start();
    await administrationOf(plain(good.port)).createQueue('faulty');
    const task = await tasks.start({ env: { [VARIABLES.messagesTable]: 'missing' } });
    const idIn = (text: string) => /TrackingId:([\da-f-]{36})_/.exec(text)?.[1];
    const client = new ServiceBusClient(plain(task.port), { retryOptions: { maxRetries: 0 } });
    const overAmqp = await client
      .createSender('faulty')
      .sendMessages({ body: 'one' })
      .catch((error: Error) => idIn(error.message));
    await client.close();
    const { url, headers } = addressed(task.port, 'faulty/messages');
    const answer = await fetch(url, { method: 'POST', headers, body: 'one' });
    assert.equal(answer.status, 500);
    const overHttp = idIn(await answer.text());
    assert.ok(overAmqp && overHttp);
    for (const id of [overAmqp, overHttp]) {
      const { level, fault } = await task.untilLine(({ trackingId }) => trackingId === id);
      assert.equal(level, 'error');
      assert.match(String(fault), /^ResourceNotFoundException/);
    }
  });

  test('a fault that nobody caught ends the task, and stands in its log in one line', async () => {
    const planted = 'process.on("SIGUSR2", () => { throw new Error("planted"); })';
    const task = await tasks.start({
      args: ['--import', `data:text/javascript,${encodeURIComponent(planted)}`],
    });
    task.child.kill('SIGUSR2');
    assert.equal(await task.ended, 1);
    const { level, fault } = task.lines().at(-1) ?? {};
    assert.equal(level, 'error');
    assert.match(String(fault), /^Error: planted\n/);
  });

  test('the number of clients is a metric in the log, which knows no key and only JSON', async (t) => {
    const task = await tasks.start();
    const admin = administrationOf(plain(task.port));
    await admin.createQueue('counted');
    const clients = Array.from({ length: 20 }, () => clientOf(task.port));
    await Promise.all(
      clients.map((client) => client.createSender('counted').sendMessages({ body: 'one' })),
    );
    task.child.kill('SIGTERM');
    assert.equal(await task.ended, 0);
    const lines = task.lines();
    const metrics = lines.filter(({ _aws }) => _aws !== undefined);
    assert.deepEqual(
      metrics.map(({ AmqpConnections }) => AmqpConnections),
      [0, clients.length],
    );
    const { _aws: aws, Broker, rssMegabytes } = metrics.at(-1) ?? {};
    assert.match(String(Broker), /^gateway-/);
    assert.deepEqual((aws as { CloudWatchMetrics: unknown }).CloudWatchMetrics, [
      {
        Namespace: 'dynabus',
        Dimensions: [['Broker']],
        Metrics: [{ Name: 'AmqpConnections', Unit: 'Count' }],
      },
    ]);
    t.diagnostic(`${rssMegabytes} MB with ${clients.length} clients`);
    assert.ok(Number(rssMegabytes) < RSS_MEGABYTES_MAX);
    await Promise.all(clients.map((client) => client.close()));
    assert.deepEqual(
      lines.filter((line) => 'unstructured' in line),
      [],
    );
    assert.ok(!JSON.stringify(lines).includes(ROOT_KEY));
  });
});
