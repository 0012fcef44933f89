import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newName, newQueue, newSessionQueue, receiveNow, receiveOne } from './bus-entities.ts';
import { withBus } from './service-bus-clients.ts';

const inMs = (ms: number) => new Date(Date.now() + ms);

withBus('scheduling', (bus) => {
  test('a scheduled message waits for its time', async () => {
    const { sender, receiver } = await newQueue(bus);
    const [number] = await sender.scheduleMessages({ body: 'later' }, inMs(60_000));
    assert.ok(number && number.toNumber() > 0);
    assert.deepEqual(await receiveNow(receiver), []);
    const [peeked] = await receiver.peekMessages(1);
    assert.equal(peeked?.state, 'scheduled');
    assert.equal(peeked?.sequenceNumber?.toString(), number.toString());
  });

  test('a scheduled message comes when it is due', async () => {
    const { sender, receiver } = await newQueue(bus);
    const due = inMs(500);
    await sender.scheduleMessages({ body: 'later' }, due);
    const message = await receiveOne(receiver);
    assert.ok(Date.now() >= due.getTime());
    assert.deepEqual([message.body, message.state], ['later', 'scheduled']);
    assert.equal(message.scheduledEnqueueTimeUtc?.getTime(), due.getTime());
    assert.equal(message.enqueuedTimeUtc?.getTime(), due.getTime());
  });

  test('what came due is still called scheduled, from a subscription too, and deferred once it is', async () => {
    const topic = newName('topic');
    await bus.admin.createTopic(topic);
    await bus.admin.createSubscription(topic, 'sub');
    await bus.client.createSender(topic).scheduleMessages({ body: 'later' }, inMs(500));
    const receiver = bus.client.createReceiver(topic, 'sub');
    const message = await receiveOne(receiver);
    assert.equal(message.state, 'scheduled');
    await receiver.deferMessage(message);
    assert.ok(message.sequenceNumber);
    const [deferred] = await receiver.receiveDeferredMessages(message.sequenceNumber);
    assert.equal(deferred?.state, 'deferred');
  });

  test('a time that is past schedules nothing', async () => {
    const { sender, receiver } = await newQueue(bus);
    await sender.sendMessages({ body: 'now', scheduledEnqueueTimeUtc: inMs(-60_000) });
    assert.equal((await receiveOne(receiver)).state, 'active');
  });

  test('several are scheduled at once, and a sent message may name its time too', async () => {
    const { sender, receiver } = await newQueue(bus);
    const numbers = await sender.scheduleMessages([{ body: 'a' }, { body: 'b' }], inMs(60_000));
    assert.equal(numbers.length, 2);
    await sender.sendMessages({ body: 'c', scheduledEnqueueTimeUtc: inMs(60_000) });
    const peeked = await receiver.peekMessages(10);
    assert.deepEqual(
      peeked.map(({ body, state }) => [body, state]),
      [
        ['a', 'scheduled'],
        ['b', 'scheduled'],
        ['c', 'scheduled'],
      ],
    );
  });

  test('a scheduled message is cancelled', async () => {
    const { sender, receiver } = await newQueue(bus);
    const [first, second] = await sender.scheduleMessages(
      [{ body: 'a' }, { body: 'b' }],
      inMs(60_000),
    );
    assert.ok(first && second);
    await sender.cancelScheduledMessages(first);
    const left = await receiver.peekMessages(10);
    assert.deepEqual(
      left.map(({ body }) => body),
      ['b'],
    );
    await sender.cancelScheduledMessages([second]);
    assert.deepEqual(await receiver.peekMessages(10), []);
  });

  test('what is not scheduled cannot be cancelled', async () => {
    const { sender } = await newQueue(bus);
    const [number] = await sender.scheduleMessages({ body: 'a' }, inMs(60_000));
    assert.ok(number);
    await sender.cancelScheduledMessages(number);
    await assert.rejects(sender.cancelScheduledMessages(number), { code: 'MessageNotFound' });
  });

  test('a message is scheduled into a session', async () => {
    const { name, sender } = await newSessionQueue(bus);
    await sender.scheduleMessages({ body: 'later', sessionId: 'S' }, inMs(500));
    const receiver = await bus.client.acceptNextSession(name);
    assert.equal(receiver.sessionId, 'S');
    assert.equal((await receiveOne(receiver)).body, 'later');
    await receiver.close();
  });
});
