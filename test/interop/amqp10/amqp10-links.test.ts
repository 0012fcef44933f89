import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTo, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Client } from 'amqp10';
import { type AdministrationClient, administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { connect, Inbox, NO_CREDIT, url } from './amqp10-client.ts';

/** Tries again after 0, 1, 1, 2 ... seconds. */
const AGAIN = { retries: 10, strategy: 'fibonacci', forever: true };

/** Why a link is refused. The client says so of itself: of the link it is too late to ask. */
async function refusal(client: Client, open: () => Promise<unknown>) {
  const heard = once(client, 'client:errorReceived');
  await open();
  const [error] = await heard;
  return error as { condition: string; description: string };
}

describe('links and connections with amqp10', () => {
  let namespace: TestNamespace;
  let admin: AdministrationClient;
  let client: Client;
  before(async () => {
    namespace = await startNamespace();
    admin = administrationOf(namespace.connectionString);
    client = await connect(url(namespace.port));
  });
  after(async () => {
    await client.disconnect();
    await namespace.stop();
  });

  const newQueue = async (options?: Parameters<AdministrationClient['createQueue']>[1]) => {
    const name = newName('queue');
    await admin.createQueue(name, options);
    return name;
  };

  test('a wrong key is turned away at once, an unknown name at its first link', async () => {
    await assert.rejects(
      connect(url(namespace.port, 'RootManageSharedAccessKey', 'wrong')),
      /Disconnected/,
    );
    const other = await connect(url(namespace.port, 'Nobody'));
    const name = await newQueue();
    const error = await refusal(other, () => other.createSender(name));
    assert.equal(error.condition, 'amqp:unauthorized-access');
    await other.disconnect();
  });

  test('a link to what does not exist is refused by name, and the connection goes on', async () => {
    for (const open of [
      () => client.createSender('nowhere'),
      () => client.createReceiver('nowhere'),
    ]) {
      const { condition, description } = await refusal(client, open);
      assert.equal(condition, 'amqp:not-found');
      assert.match(description, /The messaging entity '.*' could not be found/);
    }
    assert.ok(await client.createSender(await newQueue()));
  });

  test('who may only send cannot receive', async () => {
    const name = newName('queue');
    const key = Buffer.alloc(32, 7).toString('base64');
    await admin.createQueue(name, {
      authorizationRules: [
        {
          claimType: 'SharedAccessKey',
          keyName: 'sends',
          primaryKey: key,
          secondaryKey: Buffer.alloc(32, 8).toString('base64'),
          accessRights: ['Send'],
        },
      ],
    });
    const other = await connect(url(namespace.port, 'sends', key));
    await (await other.createSender(name)).send('in');
    const error = await refusal(other, () => other.createReceiver(name));
    assert.equal(error.condition, 'amqp:unauthorized-access');
    await other.disconnect();
  });

  test('a receiver gets no more than it has credit for', async () => {
    const name = await newQueue();
    const sender = await client.createSender(name);
    for (const text of ['1', '2', '3']) await sender.send(text);
    const first = await Inbox.open(client, name);
    first.receiver.addCredits(2);
    for (const text of ['1', '2']) assert.equal((await first.arrival()).message.body, text);
    const second = await Inbox.open(client, name);
    assert.equal((await second.next()).message.body, '3');
    assert.equal(first.waiting, 0);
  });

  test('hundreds of sends at once go through, and come once each as credit is given again', async () => {
    const name = await newQueue();
    const sender = await client.createSender(name);
    const texts = Array.from({ length: 450 }, (_, i) => `m${i}`);
    const inbox = await Inbox.open(client, name, { rcvSettleMode: 0 }, { creditQuantum: 20 });
    await Promise.all(texts.map((text) => sender.send(text)));
    const read: unknown[] = [];
    while (read.length < texts.length) read.push((await inbox.arrival()).message.body);
    assert.deepEqual(read, texts);
  });

  test('a receiver that waits gets what is sent later', async () => {
    const name = await newQueue();
    const inbox = await Inbox.open(client, name);
    const coming = inbox.next();
    await (await client.createSender(name)).send('later');
    assert.equal((await coming).message.body, 'later');
  });

  test('a session is received by its name, the next one by null', async () => {
    const name = await newQueue({ requiresSession: true });
    const sender = await client.createSender(name);
    for (const groupId of ['A', 'B']) {
      await sender.send({ properties: { groupId }, body: groupId });
    }
    const filtered = async (session: string | null) => {
      const source = { filter: { 'com.microsoft:session-filter': session } };
      return await Inbox.open(client, name, { source });
    };
    const named = await filtered('A');
    const next = await filtered(null);
    for (const [inbox, id] of [
      [named, 'A'],
      [next, 'B'],
    ] as const) {
      const { source } = inbox.receiver.remote.attach as { source: { filter: object } };
      assert.deepEqual(source.filter, { 'com.microsoft:session-filter': id });
      const { message } = await inbox.next();
      assert.equal(message.body, id);
      assert.equal(message.properties?.['groupId'], id);
      inbox.receiver.accept(message);
    }
    const taken = await refusal(client, () => filtered('A'));
    assert.equal(taken.condition, 'com.microsoft:session-cannot-be-locked');
    const unnamed = await refusal(client, () => client.createReceiver(name));
    assert.equal(unnamed.condition, 'amqp:not-allowed');
  });

  test('links come back by themselves when the connection was cut', async () => {
    const name = await newQueue();
    const sockets = new Set<Socket>();
    const between = createServer((socket) => {
      const onward = connectTo(namespace.port, '127.0.0.1');
      sockets.add(socket);
      socket.pipe(onward).pipe(socket);
      for (const one of [socket, onward]) one.on('error', () => {});
    });
    await once(between.listen(0, '127.0.0.1'), 'listening');
    const { port } = between.address() as { port: number };
    const other = await connect(url(port), { reconnect: AGAIN });
    const sender = await other.createSender(name, { reattach: AGAIN });
    const inbox = await Inbox.open(other, name, {}, { ...NO_CREDIT, reattach: AGAIN });
    await sender.send('before');
    assert.equal((await inbox.next()).message.body, 'before');
    const links = Promise.all([once(sender, 'attached'), once(inbox.receiver, 'attached')]);
    for (const socket of sockets) socket.destroy();
    await links;
    await sender.send('after');
    // What was held at the cut keeps its lock.
    assert.equal((await inbox.next()).message.body, 'after');
    await other.disconnect();
    between.close();
  });

  test('a link that was ended with its queue attaches again once there is another', async () => {
    const name = await newQueue();
    const other = await connect(url(namespace.port));
    const inbox = await Inbox.open(other, name, {}, { creditQuantum: 1, reattach: AGAIN });
    const ended = once(inbox.receiver, 'errorReceived');
    await admin.deleteQueue(name);
    const [error] = await ended;
    assert.equal(error.condition, 'amqp:not-found');
    await admin.createQueue(name);
    await (await client.createSender(name)).send('new');
    assert.equal((await inbox.arrival()).message.body, 'new');
    await other.disconnect();
  });
});
