import type { ServerProcess } from './server-process.ts';
import { type Load, measureSend } from './throughput.ts';
import { type BenchTopic, createTopic } from './topic-units.ts';

/** Messages a second that all clients together publish to a topic over HTTP. */
export interface TopicRate {
  readonly clients: number;
  readonly messagesPerSecond: number;
  readonly copiesPerSecond: number;
}

const CLIENTS_SINGLE = 32;
const CLIENTS = 4;
const MANY_SUBSCRIPTIONS = 100;
/**
 * With more subscriptions one call keeps server and engine busy for longer. The measurement waits for its last calls,
 * so it uses few clients.
 */
const CLIENTS_MANY = 2;

/** Creates a topic of that size on the server, to be measured with each kind of call. */
export async function createServerTopic(server: ServerProcess, size: number): Promise<BenchTopic> {
  const http = server.connect(CLIENTS * 2);
  const topic = await createTopic(http, size);
  http.close();
  return topic;
}

/** Publishes as fast as possible for some time, and waits for the last calls. */
export async function measureTopic(
  server: ServerProcess,
  { name, subscriptions }: BenchTopic,
  { set, batch, ms }: Pick<Load, 'set' | 'batch' | 'ms'>,
): Promise<TopicRate> {
  const clients = clientsFor(subscriptions.length, batch);
  const http = server.connect(clients);
  const messagesPerSecond = await measureSend({ http, queue: name, set, batch, clients, ms });
  http.close();
  return { clients, messagesPerSecond, copiesPerSecond: messagesPerSecond * subscriptions.length };
}

function clientsFor(subscriptions: number, batch: number): number {
  if (subscriptions > MANY_SUBSCRIPTIONS) return CLIENTS_MANY;
  return batch === 1 ? CLIENTS_SINGLE : CLIENTS;
}
