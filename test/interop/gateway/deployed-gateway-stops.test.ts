import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import { GATEWAY_VARIABLES } from '../../../gateway/variables.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { receiveOne } from '../messaging/bus-entities.ts';
import { addressed, clientOf, health, plain } from './gateway-clients.ts';
import { type GatewayTasks, prepareTasks } from './gateway-task.ts';
import { type LoadBalancer, startLoadBalancer } from './load-balancer.ts';

/** What ECS grants, less the notice, which is none here. */
const STOP_MS_MAX = 20_000;

describe('tasks of the gateway that come and go', () => {
  let tasks: GatewayTasks;
  let balancer: LoadBalancer;
  before(async () => {
    [tasks, balancer] = await Promise.all([prepareTasks(), startLoadBalancer()]);
  });
  after(() => {
    balancer.stop();
    tasks.stop();
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
    const task = await tasks.start({ env: { [GATEWAY_VARIABLES.drainNoticeMs]: '3000' } });
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
    const receive = (seconds: number) => {
      const { url, headers } = addressed(task.port, `quiet/messages/head?timeout=${seconds}`);
      return fetch(url, { method: 'DELETE', headers });
    };
    // The next one goes over the same connection, which is made by then.
    assert.equal((await receive(0)).status, 204);
    const waiting = receive(60);
    for (let round = 0; round < 3; round++) await health(task.port);
    const signalledAt = performance.now();
    task.child.kill('SIGTERM');
    assert.equal((await waiting).status, 204);
    assert.equal(await task.ended, 0);
    assert.ok(performance.now() - signalledAt < STOP_MS_MAX);
  });
});
