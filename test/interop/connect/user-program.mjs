import { ServiceBusClient } from '@azure/service-bus';
import { createWebSocket } from '../../../connect/index.ts';

/** A program as a user writes it: it sends, receives and completes, closes its client, and ends by itself. */

const [options, connectionString, queue] = process.argv.slice(2);
const webSocket = createWebSocket(JSON.parse(options));
const client = new ServiceBusClient(connectionString, { webSocketOptions: { webSocket } });
const sender = client.createSender(queue);
await Promise.all(Array.from({ length: 100 }, (_, i) => sender.sendMessages({ body: i })));
const receiver = client.createReceiver(queue);
const bodies = [];
while (bodies.length < 100) {
  const messages = await receiver.receiveMessages(100 - bodies.length, { maxWaitTimeInMs: 5000 });
  await Promise.all(messages.map((message) => receiver.completeMessage(message)));
  bodies.push(...messages.map(({ body }) => body));
}
await client.close();
process.stdout.write(JSON.stringify(bodies));
