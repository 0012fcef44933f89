import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import amqp10, { type Client, type Message } from 'amqp10';
import { type AdministrationClient, administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { connect, Inbox, url } from './amqp10-client.ts';

const { ServiceBusQueue } = amqp10.Policy;

describe('messages with amqp10, a stack of its own', () => {
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

  /** A queue in which these texts lie. */
  const queueWith = async (
    texts: readonly string[],
    options?: Parameters<AdministrationClient['createQueue']>[1],
  ) => {
    const name = newName('queue');
    await admin.createQueue(name, options);
    const sender = await client.createSender(name);
    for (const text of texts) await sender.send(text);
    return name;
  };

  /** Says what becomes of a message, and hears that it is so. */
  const settle = async ({ receiver }: Inbox, say: () => void) => {
    const heard = once(receiver.session, 'disposition');
    say();
    const [{ state }] = await heard;
    return state as object;
  };

  const deliveryCount = ({ header }: Message) => header?.['deliveryCount'];
  const readDeadLetters = (name: string) => Inbox.open(client, `${name}/$DeadLetterQueue`);

  test('sends, receives and accepts; what is accepted is gone', async () => {
    const name = await queueWith(['one', 'two']);
    const inbox = await Inbox.open(client, name);
    for (const text of ['one', 'two']) {
      const { message, frame } = await inbox.next();
      assert.equal(message.body, text);
      assert.equal(frame.deliveryTag.byteLength, 16);
      await settle(inbox, () => inbox.receiver.accept(message));
    }
    const { totalMessageCount } = await admin.getQueueRuntimeProperties(name);
    assert.equal(totalMessageCount, 0);
  });

  test('the policy that the package has for Service Bus works as it is', async () => {
    const name = newName('queue');
    await admin.createQueue(name);
    const other = new amqp10.Client(ServiceBusQueue);
    await other.connect(url(namespace.port));
    const receiver = await other.createReceiver(name);
    const arrived = once(receiver, 'message');
    const sender = await other.createSender(name);
    await sender.send({ order: 7 });
    const [{ body }] = await arrived;
    assert.deepEqual(body, { order: 7 });
    await other.disconnect();
  });

  test('a rejected message is a dead letter, with the error as the reason', async () => {
    const name = await queueWith(['bad']);
    const inbox = await Inbox.open(client, name);
    const { message } = await inbox.next();
    const error = { condition: 'shop:no-such-article', description: 'It is sold out.' };
    await settle(inbox, () => inbox.receiver.reject(message, error));
    const dead = await (await readDeadLetters(name)).next();
    assert.equal(dead.message.body, 'bad');
    const { DeadLetterReason, DeadLetterErrorDescription } =
      dead.message.applicationProperties ?? {};
    assert.equal(DeadLetterReason, error.condition);
    assert.equal(DeadLetterErrorDescription, error.description);
  });

  test('a rejection with nothing but a condition is one, too', async () => {
    const name = await queueWith(['bad']);
    const inbox = await Inbox.open(client, name);
    const { message } = await inbox.next();
    await settle(inbox, () => inbox.receiver.reject(message, 'amqp:decode-error'));
    const dead = await (await readDeadLetters(name)).next();
    assert.equal(dead.message.applicationProperties?.['DeadLetterReason'], 'amqp:decode-error');
  });

  test('a released message comes again, however often, and does not count as tried', async () => {
    const name = await queueWith(['again'], { maxDeliveryCount: 2 });
    const inbox = await Inbox.open(client, name);
    for (let tries = 0; tries < 5; tries++) {
      const { message } = await inbox.next();
      assert.deepEqual([message.body, deliveryCount(message)], ['again', 0]);
      await settle(inbox, () => inbox.receiver.release(message));
    }
    const { message } = await inbox.next();
    await settle(inbox, () => inbox.receiver.modify(message, { deliveryFailed: true }));
    assert.equal(deliveryCount((await inbox.next()).message), 1);
  });

  test('a modified message comes again with what was added, until it is dead', async () => {
    const name = await queueWith(['thrice'], { maxDeliveryCount: 2 });
    const inbox = await Inbox.open(client, name);
    for (const tries of [0, 1]) {
      const { message } = await inbox.next();
      assert.equal(deliveryCount(message), tries);
      assert.equal(message.applicationProperties?.['seen'], tries === 0 ? undefined : 'yes');
      await settle(inbox, () =>
        inbox.receiver.modify(message, {
          deliveryFailed: true,
          undeliverableHere: false,
          messageAnnotations: { seen: 'yes' },
        }),
      );
    }
    const { message } = await (await readDeadLetters(name)).next();
    assert.equal(message.applicationProperties?.['DeadLetterReason'], 'MaxDeliveryCountExceeded');
  });

  test('a message that is undeliverable here is put off, and lies deferred', async () => {
    const name = await queueWith(['later', 'now']);
    const inbox = await Inbox.open(client, name);
    const { message } = await inbox.next();
    await settle(inbox, () => inbox.receiver.modify(message, { undeliverableHere: true }));
    const { message: next } = await inbox.next();
    assert.equal(next.body, 'now');
    await settle(inbox, () => inbox.receiver.accept(next));
    const { totalMessageCount } = await admin.getQueueRuntimeProperties(name);
    assert.equal(totalMessageCount, 1);
  });

  test('several messages are accepted in one word', async () => {
    const texts = ['a', 'b', 'c'];
    const name = await queueWith(texts);
    const inbox = await Inbox.open(client, name);
    const messages: Message[] = [];
    for (const _ of texts) messages.push((await inbox.next()).message);
    await settle(inbox, () => inbox.receiver.accept(messages as unknown as Message));
    await inbox.receiver.detach();
    const { totalMessageCount } = await admin.getQueueRuntimeProperties(name);
    assert.equal(totalMessageCount, 0);
  });

  test('receive and delete: they come settled, and are gone', async () => {
    const name = await queueWith(['one', 'two']);
    const inbox = await Inbox.open(client, name, { sndSettleMode: 1, rcvSettleMode: 0 });
    inbox.receiver.addCredits(2);
    for (const text of ['one', 'two']) {
      const { message, frame } = await inbox.arrival();
      assert.equal(message.body, text);
      assert.equal(frame.settled, true);
    }
    const { totalMessageCount } = await admin.getQueueRuntimeProperties(name);
    assert.equal(totalMessageCount, 0);
  });

  test('what is sent settled is stored, and nobody is told', async () => {
    const name = await queueWith([]);
    const sender = await client.createSender(name, { attach: { sndSettleMode: 1 } });
    await sender.send('quiet');
    const { message } = await (await Inbox.open(client, name)).next();
    assert.equal(message.body, 'quiet');
  });

  test('properties and header come back as they were sent', async () => {
    const name = await queueWith([]);
    const sender = await client.createSender(name);
    const properties = {
      messageId: 'm-1',
      userId: Buffer.from('me'),
      to: 'there',
      subject: 'matter',
      replyTo: 'here',
      correlationId: 'c-1',
      contentType: 'text/plain',
      groupId: 'g',
      replyToGroupId: 'rg',
    };
    await sender.send({
      header: { durable: true, priority: 7, ttl: 60_000 },
      properties,
      messageAnnotations: { 'x-opt-partition-key': 'g', mine: 1 },
      footer: { crc: 'abc' },
      body: 'whole',
    });
    const { message } = await (await Inbox.open(client, name)).next();
    for (const [key, value] of Object.entries(properties)) {
      assert.deepEqual(message.properties?.[key], value, key);
    }
    const { header, footer, messageAnnotations } = message;
    assert.deepEqual(
      [header?.['durable'], header?.['priority'], header?.['ttl']],
      [true, 7, 60_000],
    );
    assert.deepEqual(footer, { crc: 'abc' });
    assert.equal(messageAnnotations?.['x-opt-partition-key'], 'g');
    assert.equal(messageAnnotations?.['mine'], 1);
    assert.equal(messageAnnotations?.['x-opt-sequence-number'], 1);
  });

  test('a subscription hands out what its filter lets through', async () => {
    const topic = newName('topic');
    await admin.createTopic(topic);
    await admin.createSubscription(topic, 'all');
    await admin.createSubscription(topic, 'red', {
      defaultRuleOptions: { name: 'colour', filter: { sqlExpression: "colour = 'red'" } },
    });
    const sender = await client.createSender(topic);
    for (const colour of ['blue', 'red']) {
      await sender.send({ applicationProperties: { colour }, body: colour });
    }
    const red = await Inbox.open(client, `${topic}/Subscriptions/red`);
    assert.equal((await red.next()).message.body, 'red');
    const every = await Inbox.open(client, `${topic}/Subscriptions/all`);
    for (const colour of ['blue', 'red']) {
      assert.equal((await every.next()).message.body, colour);
    }
  });
});
