const { ServiceBusClient } = require('@azure/service-bus');
const { startNamespace } = require('dynabus/testing');

let bus;
let client;
beforeAll(async () => {
  bus = await startNamespace({ queues: { invoices: { requiresSession: true } } });
  client = new ServiceBusClient(bus.connectionString);
});
afterAll(async () => {
  await client?.close();
  await bus?.stop();
});

test('the invoices of a customer come in order', async () => {
  const sender = client.createSender('invoices');
  await sender.sendMessages([1, 2].map((body) => ({ body, sessionId: 'customer-1' })));

  const receiver = await client.acceptSession('invoices', 'customer-1', {
    receiveMode: 'receiveAndDelete',
  });
  const messages = await receiver.receiveMessages(2);
  expect(messages.map(({ body }) => body)).toEqual([1, 2]);
  await receiver.close();
});

test('a receiver goes on after 14 days', async () => {
  const receiver = await client.acceptSession('invoices', 'customer-2');

  await bus.clock.advance({ days: 14 });

  await receiver.close();
  await client.createSender('invoices').sendMessages({ body: 3, sessionId: 'customer-2' });
  const again = await client.acceptSession('invoices', 'customer-2');
  const [message] = await again.receiveMessages(1);
  expect(message.body).toBe(3);
  await again.completeMessage(message);
  await again.close();
});
