import { randomBytes } from 'node:crypto';
import type { CountingNamespace } from '../counted-units.ts';
import { AmqpClients } from './amqp-clients.ts';
import { HttpClients } from './http-clients.ts';
import type { OpenQueue, QueueClients } from './queue-clients.ts';
import { RawClients } from './raw-clients.ts';

/** A namespace, in this process or in another one. */
export type Namespace = Pick<CountingNamespace, 'connect' | 'connectionString'>;

/** The ways in which a benchmark uses a queue of dynabus. */
export const CLIENT_KINDS = ['HTTP', 'AMQP', 'AMQP, frames only'] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** Returns how to create a queue in a namespace with clients of a kind. */
export function queuesOf(namespace: Namespace, kind: ClientKind): OpenQueue {
  return async (clients) => {
    const http = namespace.connect(kind === 'HTTP' ? clients : 1);
    const queue = `bench-${randomBytes(6).toString('hex')}`;
    await http.createQueue(queue, undefined);
    if (kind === 'HTTP') return new HttpClients(http, queue, clients);
    const { connectionString } = namespace;
    const opened =
      kind === 'AMQP'
        ? await new AmqpClients(connectionString, queue, clients).open()
        : await RawClients.open(connectionString, queue, clients);
    return closingQueue(opened, async () => {
      await http.deleteQueue(queue);
      http.close();
    });
  };
}

/** The same clients; after they are closed, the queue is deleted. */
function closingQueue(clients: QueueClients, deleteQueue: () => Promise<void>): QueueClients {
  return {
    send: (client, bodies) => clients.send(client, bodies),
    receive: (batch, expected) => clients.receive(batch, expected),
    close: async () => {
      await clients.close();
      await deleteQueue();
    },
  };
}
