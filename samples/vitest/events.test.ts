import { ServiceBusClient } from '@azure/service-bus';
import { startNamespace, type TestNamespace } from 'dynabus/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

let bus: TestNamespace;
let client: ServiceBusClient;
beforeAll(async () => {
  bus = await startNamespace({
    topics: {
      events: {
        subscriptions: [
          'audit',
          { name: 'urgent', rules: [{ name: 'high', sql: "priority = 'high'" }] },
        ],
      },
    },
  });
  client = new ServiceBusClient(bus.connectionString);
});
afterAll(async () => {
  await client?.close();
  await bus?.stop();
});

test('a rule chooses the messages of a subscription', async () => {
  const sender = client.createSender('events');
  await sender.sendMessages([
    { body: 'a', applicationProperties: { priority: 'high' } },
    { body: 'b', applicationProperties: { priority: 'low' } },
  ]);

  const urgent = await bus.messages('events/subscriptions/urgent');
  expect(urgent.map(({ body }) => body)).toEqual(['a']);
  const audit = await bus.messages('events/subscriptions/audit');
  expect(audit.map(({ body }) => body)).toEqual(['a', 'b']);
});

test('a message is still there after 14 days', async () => {
  await bus.reset();
  await client.createSender('events').sendMessages({ body: 'c' });

  await bus.clock.advance({ days: 14 });

  const [message] = await client.createReceiver('events', 'audit').receiveMessages(1);
  expect(message?.body).toBe('c');
});
