import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BETA } from '../versions.ts';
import { bodies, newName, newQueue, newSessionQueue, receive, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';
import { ALL_WAYS } from './ways.ts';

/** The least that the newest version must do; `npm run test:more` runs all suites with it. */
withBus(
  'the newest version in short',
  (bus) => {
    test('a batch is sent, received in order and completed', async () => {
      const { sender, receiver } = await newQueue(bus);
      const batch = await sender.createMessageBatch();
      for (const message of bodies('a', 'b', 'c')) assert.ok(batch.tryAddMessage(message));
      await sender.sendMessages(batch);
      const messages = await receive(receiver, 3);
      assert.deepEqual(
        messages.map(({ body }) => body),
        ['a', 'b', 'c'],
      );
      for (const message of messages) await receiver.completeMessage(message);
      assert.deepEqual(await receiver.peekMessages(5), []);
    });

    test('a message is renewed, abandoned, deferred and dead-lettered', async () => {
      const { name, sender, receiver } = await newQueue(bus);
      await sender.sendMessages({ body: 'x', applicationProperties: { n: 1 } });
      const first = await receiveOne(receiver);
      assert.ok((await receiver.renewMessageLock(first)) instanceof Date);
      await receiver.abandonMessage(first);
      const second = await receiveOne(receiver);
      assert.equal(second.deliveryCount, 1);
      assert.ok(second.sequenceNumber);
      await receiver.deferMessage(second);
      const [deferred] = await receiver.receiveDeferredMessages(second.sequenceNumber);
      assert.ok(deferred);
      await receiver.deadLetterMessage(deferred, {
        deadLetterReason: 'why',
        deadLetterErrorDescription: 'because',
      });
      const letters = bus.client.createReceiver(name, { subQueueType: 'deadLetter' });
      const letter = await receiveOne(letters);
      assert.deepEqual(
        [letter.body, letter.deadLetterReason, letter.applicationProperties?.['n']],
        ['x', 'why', 1],
      );
      await letters.completeMessage(letter);
    });

    test('a scheduled message is shown, and cancelled', async () => {
      const { sender, receiver } = await newQueue(bus);
      const [number] = await sender.scheduleMessages(
        { body: 'later' },
        new Date(Date.now() + 3_600_000),
      );
      assert.ok(number);
      assert.equal((await receiver.peekMessages(5))[0]?.state, 'scheduled');
      await sender.cancelScheduledMessages(number);
      assert.deepEqual(await receiver.peekMessages(5), []);
    });

    test('a session is accepted, keeps its state and its order', async () => {
      const { name, sender } = await newSessionQueue(bus);
      await sender.sendMessages(['1', '2'].map((body) => ({ body, sessionId: 'S' })));
      const receiver = await bus.client.acceptNextSession(name);
      assert.equal(receiver.sessionId, 'S');
      await receiver.setSessionState({ step: 1 });
      for (const message of await receive(receiver, 2)) await receiver.completeMessage(message);
      await receiver.close();
      const again = await bus.client.acceptSession(name, 'S');
      assert.deepEqual(await again.getSessionState(), { step: 1 });
      assert.deepEqual(await again.peekMessages(5), []);
      await again.close();
    });

    test('a subscription gets what its rule lets through, pushed', async () => {
      const topic = newName('topic');
      await bus.admin.createTopic(topic);
      await bus.admin.createSubscription(topic, 's');
      const rules = bus.client.createRuleManager(topic, 's');
      await rules.deleteRule('$Default');
      await rules.createRule('red', { sqlExpression: "colour = 'red'" });
      const receiver = bus.client.createReceiver(topic, 's');
      const pushed = new Promise<unknown>((resolve, reject) => {
        receiver.subscribe({
          processMessage: async ({ body }) => resolve(body),
          processError: async ({ error }) => reject(error),
        });
      });
      await bus.client.createSender(topic).sendMessages(
        ['blue', 'red'].map((colour) => ({
          body: colour,
          applicationProperties: { colour },
        })),
      );
      assert.equal(await pushed, 'red');
      await receiver.close();
    });

    test('a refusal has the code of the service', async () => {
      await assert.rejects(bus.client.createSender('nowhere').sendMessages({ body: 'x' }), {
        code: 'MessagingEntityNotFound',
      });
    });
  },
  { version: BETA, ways: ALL_WAYS },
);
