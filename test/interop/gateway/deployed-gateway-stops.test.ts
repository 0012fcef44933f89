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

/** The time that ECS grants for a stop, without the notice time, which is zero here. */
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

  test('clients of a task that stops continue with another task, and no acknowledged message is lost', async (t) => {
    const [one, other] = await Promise.all([tasks.start(), tasks.start()]);
    balancer.routeTo(one.port);
    await administrationOf(plain(one.port)).createQueue('kept');
    const [sending, receiving] = [clientOf(balancer.port), clientOf(balancer.port)];
    const received = new Set<unknown>();
    const acknowledged = new Set<number>();
    let check = () => {};
    const until = (isThere: () => boolean) =>
      new Promise<void>((resolve) => {
        check = () => isThere() && resolve();
        check();
      });
    receiving.createReceiver('kept').subscribe(
      {
        processMessage: async ({ body }: ServiceBusReceivedMessage) => {
          received.add(body);
          check();
        },
        // The client reports the end of the connection and reconnects by itself.
        processError: async () => {},
      },
      { maxConcurrentCalls: 20 },
    );
    const sender = sending.createSender('kept');
    let number = 0;
    let isSending = true;
    const sendAll = async () => {
      while (isSending) {
        const body = number++;
        // A refused message was not acknowledged. The client has retried several times by then.
        await sender.sendMessages({ body }).then(
          () => acknowledged.add(body),
          () => {},
        );
        check();
      }
    };
    const senders = Promise.all(Array.from({ length: 5 }, sendAll));
    await until(() => received.size >= 20);

    // ECS deregisters a task before it stops the task.
    balancer.routeTo(other.port);
    const signalledAt = performance.now();
    one.child.kill('SIGTERM');
    assert.equal(await one.ended, 0);
    const stopMs = performance.now() - signalledAt;
    assert.ok(stopMs < STOP_MS_MAX, `${stopMs} ms`);

    const before = number;
    await until(() => [...acknowledged].some((body) => body >= before + 20));
    isSending = false;
    await senders;
    const resumedMs = performance.now() - signalledAt - stopMs;
    await until(() => [...acknowledged].every((body) => received.has(body)));
    await Promise.all([sending.close(), receiving.close()]);
    t.diagnostic(
      `stopped in ${stopMs.toFixed()} ms, then 20 more were sent in ${resumedMs.toFixed()} ms; ${number - acknowledged.size} refused`,
    );
  });

  test('a receive that waits at a task that stops gets its message from another task', async () => {
    const [one, other] = await Promise.all([tasks.start(), tasks.start()]);
    balancer.routeTo(one.port);
    await administrationOf(plain(one.port)).createQueue('waiting');
    const client = clientOf(balancer.port);
    const receiver = client.createReceiver('waiting');
    // The link exists when this receive has ended.
    assert.deepEqual(await receiver.receiveMessages(1, { maxWaitTimeInMs: 1 }), []);
    const waiting = receiveOne(receiver);
    balancer.routeTo(other.port);
    one.child.kill('SIGTERM');
    assert.equal(await one.ended, 0);
    const sending = clientOf(balancer.port);
    await sending.createSender('waiting').sendMessages({ body: 'late' });
    assert.equal((await waiting).body, 'late');
    await Promise.all([client.close(), sending.close()]);
  });

  test('a task that gets SIGTERM reports itself unhealthy and serves on for the notice time', async () => {
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

  test('neither a silent connection nor a waiting request delays the stop', async () => {
    const task = await tasks.start();
    await administrationOf(plain(task.port)).createQueue('quiet');
    const silent = connect(task.port, '127.0.0.1');
    await once(silent, 'connect');
    const receive = (seconds: number) => {
      const { url, headers } = addressed(task.port, `quiet/messages/head?timeout=${seconds}`);
      return fetch(url, { method: 'DELETE', headers });
    };
    // The next receive uses the same connection, which this one opens.
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
