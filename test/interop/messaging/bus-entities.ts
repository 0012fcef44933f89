import type {
  ServiceBusMessage,
  ServiceBusReceivedMessage,
  ServiceBusReceiver,
  ServiceBusSender,
} from '@azure/service-bus';
import type { AdministrationClient } from '../administration/admin-clients.ts';
import type { ConnectedBus } from './service-bus-clients.ts';

/** A queue of one test, and what works on it. */
export interface TestQueue {
  readonly name: string;
  readonly sender: ServiceBusSender;
  readonly receiver: ServiceBusReceiver;
}

type QueueOptions = Parameters<AdministrationClient['createQueue']>[1];

let created = 0;

/** A name that no other test has. */
export function newName(kind: string): string {
  created++;
  return `${kind}-${created}`;
}

/** Creates a queue without sessions. */
export async function newQueue(bus: ConnectedBus, options?: QueueOptions): Promise<TestQueue> {
  const name = newName('queue');
  await bus.admin.createQueue(name, options);
  return {
    name,
    sender: bus.client.createSender(name),
    receiver: bus.client.createReceiver(name),
  };
}

/** Creates a queue that requires sessions. */
export async function newSessionQueue(bus: ConnectedBus, options?: QueueOptions) {
  const name = newName('session-queue');
  await bus.admin.createQueue(name, { ...options, requiresSession: true });
  return { name, sender: bus.client.createSender(name) };
}

/** Receives so many messages, or as many as come within five seconds. */
export async function receive(
  receiver: ServiceBusReceiver,
  count: number,
): Promise<readonly ServiceBusReceivedMessage[]> {
  const messages: ServiceBusReceivedMessage[] = [];
  const deadline = Date.now() + 5000;
  while (messages.length < count && Date.now() < deadline) {
    const more = await receiver.receiveMessages(count - messages.length, { maxWaitTimeInMs: 2000 });
    messages.push(...more);
  }
  return messages;
}

/** Receives the one message that must be there. */
export async function receiveOne(receiver: ServiceBusReceiver): Promise<ServiceBusReceivedMessage> {
  const [message] = await receive(receiver, 1);
  if (message === undefined) throw new Error('No message came.');
  return message;
}

/** What is there now, without much waiting. */
export function receiveNow(receiver: ServiceBusReceiver, count = 10) {
  return receiver.receiveMessages(count, { maxWaitTimeInMs: 100 });
}

/** Messages with these bodies, in order. */
export function bodies(...texts: readonly string[]): ServiceBusMessage[] {
  return texts.map((body) => ({ body }));
}
