import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ServiceBusAdministrationClient, ServiceBusClient } from '@azure/service-bus';
import { WebSocket } from 'ws';
import { VARIABLES } from '../../../shared/app/variables.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { receiveOne } from '../messaging/bus-entities.ts';
import { addressed, clientOf, connectionString, plain } from './gateway-clients.ts';
import { type GatewayTasks, prepareTasks, ROOT_KEY } from './gateway-task.ts';
import { type LoadBalancer, startLoadBalancer } from './load-balancer.ts';

const RSS_MEGABYTES_MAX = 250;

describe('the gateway as deployed', () => {
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
    balancer.routeTo(task.port);
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

  test('the messaging client without options uses AMQP over TLS', async (t) => {
    const task = await tasks.start();
    balancer.routeTo(task.port);
    await administrationOf(plain(task.port)).createQueue('amqps');
    const folder = mkdtempSync(join(tmpdir(), 'dynabus-amqps-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const trusted = join(folder, 'certificate.pem');
    writeFileSync(trusted, balancer.certificate);
    // Node reads the trusted certificates only at the start of a process.
    const script = `
      const { ServiceBusClient } = await import('@azure/service-bus');
      const client = new ServiceBusClient(process.env.CONNECTION_STRING);
      await client.createSender('amqps').sendMessages({ body: 'over TLS' });
      const receiver = client.createReceiver('amqps');
      const [message] = await receiver.receiveMessages(1);
      await receiver.completeMessage(message);
      await client.close();
      console.log(message.body);`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      {
        env: {
          PATH: process.env['PATH'],
          NODE_EXTRA_CA_CERTS: trusted,
          CONNECTION_STRING: connectionString(balancer.tlsPort),
        },
      },
    );
    assert.equal(stdout, 'over TLS\n');
  });

  test('addresses in responses begin with https, as clients call the gateway', async () => {
    const task = await tasks.start();
    await administrationOf(plain(task.port)).createQueue('located');
    const { url, headers } = addressed(task.port, 'located/messages');
    await fetch(url, { method: 'POST', headers, body: 'one' });
    const { headers: received } = await fetch(`${url}/head`, { method: 'POST', headers });
    assert.match(
      received.get('location') ?? '',
      /^https:\/\/localhost:\d+\/located\/messages\/1\//,
    );
  });

  test('any task serves any client: one receives a message and another delivers it', async () => {
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

  test('a task that cannot read the root key or its tables does not start to serve', async () => {
    for (const name of ['AWS_ENDPOINT_URL_SECRETS_MANAGER', 'AWS_ENDPOINT_URL_DYNAMODB']) {
      const task = tasks.launch({ env: { [name]: 'http://127.0.0.1:9' } });
      await assert.rejects(task.untilSaid('Started'), /It ended with 1/);
      assert.deepEqual(
        task.lines().map(({ level }) => level),
        ['error'],
      );
    }
  });

  test('a fault has a tracking id, in the response to the client and in the log', async () => {
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
      const { time, level, fault } = await task.untilLine(({ trackingId }) => trackingId === id);
      assert.equal(level, 'error');
      assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      assert.match(String(fault), /^ResourceNotFoundException/);
    }
  });

  test('an uncaught fault ends the task, with one line in its log', async () => {
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

  test('the log holds the number of clients as a metric, only JSON, and no key', async (t) => {
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
    const { _aws: aws, Namespace, rssMegabytes } = metrics.at(-1) ?? {};
    assert.match(String(Namespace), /^gateway-/);
    assert.deepEqual((aws as { CloudWatchMetrics: unknown }).CloudWatchMetrics, [
      {
        Namespace: 'dynabus',
        Dimensions: [['Namespace']],
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
