import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodies, newQueue, receive, receiveNow, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';

withBus('sending and receiving', (bus) => {
  test('a message is sent, received under a lock and completed', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'hello', messageId: 'm1', applicationProperties: { n: 1 } });
    const message = await receiveOne(receiver);
    assert.equal(message.body, 'hello');
    assert.equal(message.messageId, 'm1');
    assert.deepEqual(message.applicationProperties, { n: 1 });
    assert.equal(message.deliveryCount, 0);
    assert.equal(message.sequenceNumber?.toString(), '1');
    assert.equal(message.state, 'active');
    assert.ok(message.lockedUntilUtc && message.lockedUntilUtc.getTime() > Date.now());
    assert.match(message.lockToken ?? '', /^[0-9a-f-]{36}$/);
    await receiver.completeMessage(message);
    assert.deepEqual(await receiveNow(receiver), []);
  });

  test('an array of messages is sent and received in order', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages(bodies('a', 'b', 'c'));
    const messages = await receive(receiver, 3);
    assert.deepEqual(
      messages.map(({ body }) => body),
      ['a', 'b', 'c'],
    );
    await Promise.all(messages.map((message) => receiver.completeMessage(message)));
    assert.deepEqual(await receiveNow(receiver), []);
  });

  test('a batch takes as much as the queue allows, and is sent whole', async () => {
    const { sender, receiver } = await newQueue(bus);
    const batch = await sender.createMessageBatch();
    assert.equal(batch.maxSizeInBytes, 256 * 1024);
    const body = 'x'.repeat(10_000);
    let count = 0;
    while (batch.tryAddMessage({ body, messageId: `m${count}` })) count++;
    assert.equal(batch.count, count);
    assert.ok(count > 20 && count < 27, String(count));
    await sender.sendMessages(batch);
    const messages = await receive(receiver, count);
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      Array.from({ length: count }, (_, i) => `m${i}`),
    );
  });

  test('a message of several frames arrives unchanged', async () => {
    const { sender, receiver } = await newQueue(bus);
    const body = Buffer.alloc(200_000, 'abcdefg');
    await sender.sendMessages({ body });
    const message = await receiveOne(receiver);
    assert.ok(body.equals(message.body));
    await receiver.completeMessage(message);
  });

  test('a message that is too large is refused', async () => {
    const { sender, receiver } = await newQueue(bus);
    await assert.rejects(sender.sendMessages({ body: Buffer.alloc(300_000) }), {
      code: 'MessageSizeExceeded',
    });
    assert.deepEqual(await receiveNow(receiver), []);
  });

  test('one far too large is refused too, and the sender goes on', async () => {
    const { sender, receiver } = await newQueue(bus);
    await assert.rejects(sender.sendMessages({ body: Buffer.alloc(3_000_000) }), {
      code: 'MessageSizeExceeded',
    });
    await sender.sendMessages({ body: 'small' });
    assert.equal((await receiveOne(receiver)).body, 'small');
  });

  test('sends at once from many places all arrive, each once', async () => {
    const { sender, receiver } = await newQueue(bus);
    const names = Array.from({ length: 60 }, (_, i) => `m${i}`);
    await Promise.all(names.map((body) => sender.sendMessages({ body })));
    const messages = await receive(receiver, 60);
    assert.deepEqual(messages.map(({ body }) => body).sort(), names.toSorted());
    await Promise.all(messages.map((message) => receiver.completeMessage(message)));
    assert.deepEqual(await receiveNow(receiver), []);
  });

  test('a bad message among many is refused alone', async () => {
    const { sender, receiver } = await newQueue(bus);
    const sends = await Promise.allSettled(
      [{ body: 'a' }, { body: Buffer.alloc(270_000) }, { body: 'c' }].map((message) =>
        sender.sendMessages(message),
      ),
    );
    assert.deepEqual(
      sends.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(
      (await receive(receiver, 2)).map(({ body }) => body),
      ['a', 'c'],
    );
  });

  test('receive and delete leaves nothing behind', async () => {
    const { name, sender } = await newQueue(bus);
    const receiver = bus.client.createReceiver(name, { receiveMode: 'receiveAndDelete' });
    await sender.sendMessages(bodies('a', 'b'));
    const messages = await receive(receiver, 2);
    assert.deepEqual(
      messages.map(({ body, lockToken }) => [body, lockToken]),
      [
        ['a', undefined],
        ['b', undefined],
      ],
    );
    assert.deepEqual(await receiveNow(bus.client.createReceiver(name)), []);
  });

  test('a receive waits for a message and gets it at once', async () => {
    const { sender, receiver } = await newQueue(bus);
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
    await sender.sendMessages({ body: 'first' });
    const sentAt = Date.now();
    const [message] = await waiting;
    assert.equal(message?.body, 'first');
    assert.ok(Date.now() - sentAt < 3000);
  });

  test('a receive that brings nothing ends in time', async () => {
    const { receiver } = await newQueue(bus);
    const startedAt = Date.now();
    assert.deepEqual(await receiver.receiveMessages(5, { maxWaitTimeInMs: 300 }), []);
    assert.ok(Date.now() - startedAt < 3000);
  });

  test('a receiver that was drained receives again', async () => {
    const { sender, receiver } = await newQueue(bus);
    for (const body of ['a', 'b', 'c']) {
      assert.deepEqual(await receiveNow(receiver), []);
      await sender.sendMessages({ body });
      const message = await receiveOne(receiver);
      assert.equal(message.body, body);
      await receiver.completeMessage(message);
    }
  });

  test('two receivers get different messages', async () => {
    const { name, sender, receiver } = await newQueue(bus);
    const other = bus.client.createReceiver(name);
    await sender.sendMessages(bodies('a', 'b', 'c', 'd'));
    const first = await receive(receiver, 2);
    const second = await receive(other, 2);
    const all = [...first, ...second].map(({ body }) => body);
    assert.deepEqual(all.sort(), ['a', 'b', 'c', 'd']);
  });

  test('hundreds are received at once and completed together', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages(Array.from({ length: 300 }, (_, i) => ({ body: i })));
    const messages = await receive(receiver, 300);
    assert.deepEqual(
      messages.map(({ body }) => body),
      Array.from({ length: 300 }, (_, i) => i),
    );
    await Promise.all(messages.map((message) => receiver.completeMessage(message)));
    assert.deepEqual(await receiver.peekMessages(10), []);
  });

  test('what nobody settles comes back once its lock has run out', async () => {
    const { name, sender } = await newQueue(bus, { lockDuration: 'PT5S' });
    const receiver = bus.client.createReceiver(name, { maxAutoLockRenewalDurationInMs: 0 });
    await sender.sendMessages({ body: 'again' });
    const message = await receiveOne(receiver);
    const [again] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 9000 });
    assert.equal(again?.body, 'again');
    assert.equal(again?.deliveryCount, 1);
    await assert.rejects(receiver.completeMessage(message), { code: 'MessageLockLost' });
    assert.ok(again);
    await receiver.completeMessage(again);
  });
});
