import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { startNamespace } from 'dynabus/testing';

let bus;
let client;
before(async () => {
  bus = await startNamespace({
    queues: ['orders', { name: 'reminders', deadLetteringOnMessageExpiration: true }],
  });
  client = new ServiceBusClient(bus.connectionString);
});
beforeEach(() => bus.reset());
after(async () => {
  await client?.close();
  await bus?.stop();
});

test('an order whose lock runs out is delivered again', async () => {
  await client.createSender('orders').sendMessages({ body: { order: 1 } });
  const receiver = client.createReceiver('orders');
  await receiver.receiveMessages(1);

  await bus.clock.advance({ minutes: 1, seconds: 1 });

  const [again] = await receiver.receiveMessages(1);
  assert.deepEqual(again.body, { order: 1 });
  assert.equal(again.deliveryCount, 1);
  await receiver.completeMessage(again);
  assert.deepEqual(await bus.messages('orders'), []);
});

test('a reminder comes after 14 days, and not before', async () => {
  const due = new Date((await bus.clock.now()).getTime() + 14 * 24 * 60 * 60_000);
  await client.createSender('reminders').scheduleMessages({ body: 'pay invoice 7' }, due);
  const receiver = client.createReceiver('reminders');

  await bus.clock.advance({ days: 13 });
  assert.deepEqual(await receiver.receiveMessages(1, { maxWaitTimeInMs: 50 }), []);

  await bus.clock.advance({ days: 1 });
  const [reminder] = await receiver.receiveMessages(1);
  assert.equal(reminder.body, 'pay invoice 7');
  await receiver.completeMessage(reminder);
});

test('a reminder that nobody receives in time becomes a dead letter', async () => {
  const sender = client.createSender('reminders');
  await sender.sendMessages({ body: 'pay invoice 8', timeToLive: 24 * 60 * 60_000 });

  await bus.clock.advance({ days: 14 });

  await client.createReceiver('reminders').receiveMessages(1, { maxWaitTimeInMs: 50 });
  const [dead] = await bus.messages('reminders/$deadletterqueue');
  assert.equal(dead.body, 'pay invoice 8');
  assert.equal(dead.deadLetterReason, 'TTLExpiredException');
});
