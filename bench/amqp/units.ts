import { randomBytes } from 'node:crypto';
import { ServiceBusClient } from '@azure/service-bus';
import type { BodySet } from '../bodies.ts';
import { type CountingNamespace, type OperationCost, perMessage } from '../counted-units.ts';
import { countQueue } from '../queue-units.ts';
import { BATCH, countPatterns } from './patterns.ts';

/** The cost of a message in one use of the official client, and in the same use of HTTP. */
export interface AmqpUnits {
  readonly body: string;
  readonly what: string;
  readonly amqp: OperationCost;
  readonly http: OperationCost;
}

/** Counts the cost of messages that the official client sends, receives and settles. */
export async function countAmqp(
  counting: CountingNamespace,
  set: BodySet,
): Promise<readonly AmqpUnits[]> {
  const [many, single] = [
    await countQueue(counting, set, BATCH),
    await countQueue(counting, set, 1),
  ];
  counting.setAddedLatency('none');
  const queue = `q-${randomBytes(6).toString('hex')}`;
  await counting.http.createQueue(queue, undefined);
  const client = new ServiceBusClient(counting.connectionString);
  const costs = await countPatterns(counting, client, queue, set);
  await client.close();
  await counting.http.deleteQueue(queue);
  const both = ({ receive, settle }: typeof many) => addedUp([receive, settle]);
  return [
    { what: 'send a batch of 100', amqp: costs.sent, http: many.send },
    { what: 'send 100 one by one, at once', amqp: costs.sentAtOnce, http: many.send },
    { what: 'receive up to 100', amqp: costs.received, http: many.receive },
    { what: 'complete them, at once', amqp: costs.settled, http: many.settle },
    { what: 'subscribe, 100 calls at a time', amqp: costs.subscribed, http: both(many) },
    { what: 'the same, each call up to 100 ms', amqp: costs.subscribedSlowly, http: both(many) },
    { what: 'send one after the other', amqp: costs.sentSingly, http: single.send },
    { what: 'receive and complete one by one', amqp: costs.passedSingly, http: both(single) },
  ].map((row) => ({ body: set.name, ...row }));
}

function addedUp(costs: readonly OperationCost[]): OperationCost {
  return { ...perMessage(costs, 1), roundTrips: 0 };
}
