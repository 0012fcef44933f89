import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newName, newQueue, receiveNow, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';
import { WAYS_WITH_KEYS } from './ways.ts';

/** Keys of rules are 32 bytes in Base64. */
const keyOf = (seed: string) => Buffer.alloc(32, seed).toString('base64');

const NO_RETRY = { retryOptions: { maxRetries: 0, timeoutInMs: 5000 } };

withBus('refusals', (bus) => {
  test('an entity that does not exist is not found, by senders and receivers', async () => {
    await assert.rejects(bus.client.createSender('missing').sendMessages({ body: '' }), {
      code: 'MessagingEntityNotFound',
    });
    const receiver = bus.client.createReceiver('missing');
    await assert.rejects(receiver.receiveMessages(1, { maxWaitTimeInMs: 500 }), {
      code: 'MessagingEntityNotFound',
    });
    await assert.rejects(bus.client.acceptSession('missing', 'A'), {
      code: 'MessagingEntityNotFound',
    });
    await assert.rejects(receiver.peekMessages(1), { code: 'MessagingEntityNotFound' });
  });

  test('the words of a refusal bring our log and their report together', async () => {
    await assert.rejects(
      bus.client.createSender('missing').sendMessages({ body: '' }),
      /The messaging entity 'sb:\/\/localhost\/missing' could not be found\. TrackingId:[0-9a-f-]{36}_G0, SystemTracker:.*:missing, Timestamp:\d{4}-/,
    );
  });

  test('a queue that takes no messages, and one that hands out none', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    const queue = await bus.admin.getQueue(name);
    await bus.admin.updateQueue({ ...queue, status: 'SendDisabled' });
    await assert.rejects(sender.sendMessages({ body: '' }), { code: 'MessagingEntityDisabled' });
    await bus.admin.updateQueue({ ...queue, status: 'ReceiveDisabled' });
    await sender.sendMessages({ body: 'kept' });
    await assert.rejects(receiver.receiveMessages(1, { maxWaitTimeInMs: 500 }), {
      code: 'MessagingEntityDisabled',
    });
    await bus.admin.updateQueue({ ...queue, status: 'Active' });
    assert.equal((await receiveOne(receiver)).body, 'kept');
  });

  test('nothing is sent to a subscription or a dead-letter queue', async () => {
    const topic = newName('topic');
    await bus.admin.createTopic(topic);
    await bus.admin.createSubscription(topic, 'sub');
    const sender = bus.client.createSender(`${topic}/Subscriptions/sub`);
    await assert.rejects(sender.sendMessages({ body: '' }), /InvalidOperation/);
    const { name } = await newQueue(bus);
    const toDead = bus.client.createSender(`${name}/$DeadLetterQueue`);
    await assert.rejects(toDead.sendMessages({ body: '' }), /InvalidOperation/);
  });

  test('nothing is received from a topic, or from a queue that forwards', async () => {
    const topic = newName('topic');
    await bus.admin.createTopic(topic);
    await assert.rejects(receiveNow(bus.client.createReceiver(topic)), /InvalidOperation/);
    const { name: target } = await newQueue(bus);
    const { receiver } = await newQueue(bus, { forwardTo: target });
    await assert.rejects(receiveNow(receiver), /InvalidOperation/);
  });

  test('a queue that is deleted ends its receivers, and a new one of its name starts empty', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'old' });
    await bus.admin.deleteQueue(name);
    await assert.rejects(receiveNow(receiver), { code: 'MessagingEntityNotFound' });
    await bus.admin.createQueue(name);
    const again = await bus.connect();
    assert.deepEqual(await again.createReceiver(name).peekMessages(1), []);
    await again.createSender(name).sendMessages({ body: 'new' });
    assert.equal((await receiveOne(again.createReceiver(name))).body, 'new');
  });

  test('the next session that never comes ends the wait', async () => {
    const name = newName('sessions');
    await bus.admin.createQueue(name, { requiresSession: true });
    const impatient = await bus.connect({
      options: { retryOptions: { maxRetries: 0, timeoutInMs: 1500 } },
    });
    await assert.rejects(impatient.acceptNextSession(name), { code: 'ServiceTimeout' });
    const sender = bus.client.createSender(name);
    await sender.sendMessages({ body: 'free', sessionId: 'S' });
    const receiver = await bus.client.acceptNextSession(name);
    assert.equal(receiver.sessionId, 'S');
    await receiver.close();
  });
});

withBus(
  'keys',
  (bus) => {
    test('a wrong key is refused', async () => {
      const { name } = await newQueue(bus);
      const wrong = bus.namespace.connectionString.replace(
        /SharedAccessKey=[^;]+/,
        'SharedAccessKey=wrong',
      );
      const client = await bus.connect({ options: NO_RETRY, connectionString: wrong });
      await assert.rejects(client.createSender(name).sendMessages({ body: '' }), {
        code: 'UnauthorizedAccess',
      });
    });

    test('a key that may only listen does not send, and the other way round', async () => {
      const name = newName('guarded');
      const rule = (keyName: string, right: 'Send' | 'Listen') => ({
        keyName,
        accessRights: [right],
        claimType: 'SharedAccessKey',
        claimValue: 'None',
        primaryKey: keyOf(`primary-${keyName}`),
        secondaryKey: keyOf(`secondary-${keyName}`),
      });
      await bus.admin.createQueue(name, {
        authorizationRules: [rule('sends', 'Send'), rule('listens', 'Listen')],
      });
      const connect = (keyName: string, key: string) =>
        bus.connect({
          options: NO_RETRY,
          connectionString: bus.namespace.connectionString
            .replace(/SharedAccessKeyName=[^;]+/, `SharedAccessKeyName=${keyName}`)
            .replace(/SharedAccessKey=[^;]+/, `SharedAccessKey=${key}`),
        });
      const sending = await connect('sends', keyOf('primary-sends'));
      const listening = await connect('listens', keyOf('secondary-listens'));
      await sending.createSender(name).sendMessages({ body: 'ok' });
      await assert.rejects(receiveNow(sending.createReceiver(name)), {
        code: 'UnauthorizedAccess',
      });
      await assert.rejects(listening.createSender(name).sendMessages({ body: '' }), {
        code: 'UnauthorizedAccess',
      });
      assert.equal((await receiveOne(listening.createReceiver(name))).body, 'ok');
    });
  },
  { ways: WAYS_WITH_KEYS },
);
