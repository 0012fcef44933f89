import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BETA } from '../versions.ts';
import {
  bodies,
  newQueue,
  newSessionQueue,
  receive,
  receiveNow,
  receiveOne,
} from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';

withBus('settling', (bus) => {
  test('an abandoned message comes again at once, and it counts', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages(bodies('a', 'b'));
    const message = await receiveOne(receiver);
    await receiver.abandonMessage(message);
    const again = await receive(receiver, 2);
    assert.deepEqual(
      again.map(({ body, deliveryCount }) => [body, deliveryCount]),
      [
        ['a', 1],
        ['b', 0],
      ],
    );
  });

  test('an abandon may change properties', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'a', applicationProperties: { kept: 1, changed: 'old' } });
    await receiver.abandonMessage(await receiveOne(receiver), { changed: 'new', added: true });
    const { applicationProperties } = await receiveOne(receiver);
    assert.deepEqual(applicationProperties, { kept: 1, changed: 'new', added: true });
  });

  test('a deferred message is received by its number only', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'later' });
    const message = await receiveOne(receiver);
    await receiver.deferMessage(message, { why: 'not yet' });
    assert.deepEqual(await receiveNow(receiver), []);
    const number = message.sequenceNumber;
    assert.ok(number);
    const [deferred] = await receiver.receiveDeferredMessages(number);
    assert.ok(deferred);
    assert.equal(deferred.body, 'later');
    assert.equal(deferred.state, 'deferred');
    assert.equal(deferred.deliveryCount, 1);
    assert.deepEqual(deferred.applicationProperties, { why: 'not yet' });
    await receiver.completeMessage(deferred);
    assert.deepEqual(await receiver.peekMessages(10), []);
  });

  test('several deferred messages are received at once, and settled in every way', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages(bodies('a', 'b', 'c'));
    const messages = await receive(receiver, 3);
    for (const message of messages) await receiver.deferMessage(message);
    const numbers = messages.flatMap(({ sequenceNumber }) => sequenceNumber ?? []);
    const [a, b, c] = await receiver.receiveDeferredMessages(numbers);
    assert.ok(a && b && c);
    await receiver.abandonMessage(a);
    await receiver.deferMessage(b);
    await receiver.deadLetterMessage(c, {
      deadLetterReason: 'late',
      deadLetterErrorDescription: 'much too late',
    });
    const left = await receiver.peekMessages(10);
    assert.deepEqual(
      left.map(({ body, state }) => [body, state]),
      [
        ['a', 'deferred'],
        ['b', 'deferred'],
      ],
    );
    const dead = bus.client.createReceiver(name, { subQueueType: 'deadLetter' });
    assert.equal((await receiveOne(dead)).deadLetterReason, 'late');
  });

  test('a deferred message is received and deleted', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'later' });
    const message = await receiveOne(receiver);
    await receiver.deferMessage(message);
    const deleting = bus.client.createReceiver(name, { receiveMode: 'receiveAndDelete' });
    assert.ok(message.sequenceNumber);
    const [deferred] = await deleting.receiveDeferredMessages(message.sequenceNumber);
    assert.equal(deferred?.body, 'later');
    assert.deepEqual(await receiver.peekMessages(10), []);
  });

  test('a deferred message that names a session is settled where there are none', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages([1, 2, 3].map((body) => ({ body, sessionId: 'S' })));
    const messages = await receive(receiver, 3);
    for (const message of messages) await receiver.deferMessage(message);
    const numbers = messages.flatMap(({ sequenceNumber }) => sequenceNumber ?? []);
    const [first, second, third] = await receiver.receiveDeferredMessages(numbers);
    assert.ok(first && second && third);
    await receiver.completeMessage(first);
    await receiver.abandonMessage(second);
    await receiver.deadLetterMessage(third);
    const left = await receiver.peekMessages(10);
    assert.deepEqual(
      left.map(({ body, sessionId }) => [body, sessionId]),
      [[2, 'S']],
    );
  });

  test('a dead letter of a session is deferred, received by its number and completed', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.sendMessages({ body: 'bad', sessionId: 'S' });
    const session = await bus.client.acceptSession(name, 'S');
    await session.deadLetterMessage(await receiveOne(session));
    await session.close();
    const receiver = bus.client.createReceiver(name, { subQueueType: 'deadLetter' });
    const message = await receiveOne(receiver);
    await receiver.deferMessage(message);
    assert.ok(message.sequenceNumber);
    const [deferred] = await receiver.receiveDeferredMessages(message.sequenceNumber);
    assert.ok(deferred);
    await receiver.completeMessage(deferred);
    assert.deepEqual(await receiver.peekMessages(10), []);
  });

  test('a number that is not deferred is not found', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'active' });
    const [{ sequenceNumber } = {}] = await receiver.peekMessages(1);
    assert.ok(sequenceNumber);
    await assert.rejects(receiver.receiveDeferredMessages(sequenceNumber), {
      code: 'MessageNotFound',
    });
  });

  test('a dead-lettered message goes to the dead-letter queue with its reason', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'bad', applicationProperties: { kept: 1 } });
    await receiver.deadLetterMessage(await receiveOne(receiver), {
      deadLetterReason: 'BadData',
      deadLetterErrorDescription: 'it has no total',
      attempt: 3,
    });
    assert.deepEqual(await receiveNow(receiver), []);
    const dead = bus.client.createReceiver(name, { subQueueType: 'deadLetter' });
    const message = await receiveOne(dead);
    assert.equal(message.body, 'bad');
    assert.equal(message.deadLetterReason, 'BadData');
    assert.equal(message.deadLetterErrorDescription, 'it has no total');
    assert.deepEqual(message.applicationProperties, {
      kept: 1,
      attempt: 3,
      DeadLetterReason: 'BadData',
      DeadLetterErrorDescription: 'it has no total',
    });
    assert.equal(message.deliveryCount, 0);
    await dead.completeMessage(message);
    assert.deepEqual(await dead.peekMessages(1), []);
  });

  test('a dead letter cannot be dead-lettered again', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'bad' });
    await receiver.deadLetterMessage(await receiveOne(receiver));
    const dead = bus.client.createReceiver(name, { subQueueType: 'deadLetter' });
    const message = await receiveOne(dead);
    await assert.rejects(dead.deadLetterMessage(message), /InvalidOperation/);
    assert.equal((await dead.peekMessages(1)).length, 1);
  });

  test('a message that was delivered too often is dead-lettered', async () => {
    const { name, sender, receiver } = await newQueue(bus, { maxDeliveryCount: 2 });
    await sender.sendMessages({ body: 'poison' });
    for (const count of [0, 1]) {
      const message = await receiveOne(receiver);
      assert.equal(message.deliveryCount, count);
      await receiver.abandonMessage(message);
    }
    const dead = bus.client.createReceiver(name, { subQueueType: 'deadLetter' });
    assert.equal((await receiveOne(dead)).deadLetterReason, 'MaxDeliveryCountExceeded');
  });

  test('a message is settled once', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'once' });
    const message = await receiveOne(receiver);
    await receiver.completeMessage(message);
    await assert.rejects(receiver.completeMessage(message));
    const other = bus.client.createReceiver(name);
    assert.deepEqual(await receiveNow(other), []);
  });

  test('a lock is renewed', async () => {
    const { sender, receiver } = await newQueue(bus, { lockDuration: 'PT5S' });
    await sender.sendMessages({ body: 'long work' });
    const message = await receiveOne(receiver);
    const before = message.lockedUntilUtc?.getTime() ?? 0;
    bus.namespace.advance(50);
    const until = await receiver.renewMessageLock(message);
    assert.ok(until.getTime() > before);
    assert.equal(message.lockedUntilUtc?.getTime(), until.getTime());
    await receiver.completeMessage(message);
  });

  test('a lock that was lost cannot be renewed', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'gone' });
    const message = await receiveOne(receiver);
    await receiver.completeMessage(message);
    await assert.rejects(receiver.renewMessageLock(message), { code: 'MessageLockLost' });
  });

  test('messages are peeked without being touched', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages(bodies('a', 'b', 'c'));
    const locked = await receiveOne(receiver);
    const peeked = await receiver.peekMessages(10);
    assert.deepEqual(
      peeked.map(({ body, deliveryCount, lockToken }) => [body, deliveryCount, lockToken]),
      [
        ['a', 0, undefined],
        ['b', 0, undefined],
        ['c', 0, undefined],
      ],
    );
    await receiver.completeMessage(locked);
  });

  test('a peek goes on where the last one ended, or from a number', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    await sender.sendMessages(bodies('a', 'b', 'c', 'd'));
    const texts = async (from: ReturnType<typeof receiver.peekMessages>) =>
      (await from).map(({ body }) => body);
    assert.deepEqual(await texts(receiver.peekMessages(2)), ['a', 'b']);
    assert.deepEqual(await texts(receiver.peekMessages(2)), ['c', 'd']);
    assert.deepEqual(await texts(receiver.peekMessages(2)), []);
    // The client remembers where it was for all its receivers of a queue.
    const [, , third] = await (await bus.connect()).createReceiver(name).peekMessages(3);
    assert.ok(third?.sequenceNumber);
    const fromThird = receiver.peekMessages(9, { fromSequenceNumber: third.sequenceNumber });
    assert.deepEqual(await texts(fromThird), ['c', 'd']);
  });

  test('two locks are settled while a third is held', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages(bodies('a', 'b', 'c'));
    const [a, b, c] = await receive(receiver, 3);
    assert.ok(a && b && c);
    await Promise.all([receiver.completeMessage(c), receiver.abandonMessage(b)]);
    assert.equal((await receiveOne(receiver)).body, 'b');
    await receiver.completeMessage(a);
  });
});

withBus(
  'deleting',
  (bus) => {
    test('messages are deleted without being received', async () => {
      const { sender, receiver } = await newQueue(bus);
      await sender.sendMessages(bodies('a', 'b', 'c'));
      const deleting = receiver as unknown as {
        deleteMessages(options: { maxMessageCount: number }): Promise<number>;
        purgeMessages(): Promise<number>;
      };
      assert.equal(await deleting.deleteMessages({ maxMessageCount: 2 }), 2);
      const left = await receiver.peekMessages(5);
      assert.deepEqual(
        left.map(({ body }) => body),
        ['c'],
      );
      assert.equal(await deleting.purgeMessages(), 1);
      assert.equal(await deleting.purgeMessages(), 0);
      assert.deepEqual(await receiver.peekMessages(5), []);
    });
  },
  { version: BETA },
);
