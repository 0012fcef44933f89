import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { ServiceBusClient } from '@azure/service-bus';
import { LoadRandom } from '../../test/support/load-random.ts';
import type { BodySet } from '../bodies.ts';
import { type CountingNamespace, cycle, type OperationCost, perMessage } from '../counted-units.ts';
import { countQueue } from '../queue-units.ts';

/** The cost of a message in one use of the official client, and in the same use of HTTP. */
export interface AmqpUnits {
  readonly body: string;
  readonly what: string;
  readonly amqp: OperationCost;
  readonly http: OperationCost;
}

const ROUNDS = 4;
const BATCH = 100;
const SINGLES = 8;
/** Longer than any of these takes. */
const WAIT_MS = 20_000;
const HANDLER_MS_MAX = 100;

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
  const sender = client.createSender(queue);
  const receiver = client.createReceiver(queue);
  // Opens the link, and the queue's description is read.
  await sender.createMessageBatch();
  const bodies = cycle(set.bodies, BATCH).map((body) => ({ body }));
  const rounds = async (count: number, messages: number, call: () => Promise<unknown>) => {
    const costs: OperationCost[] = [];
    for (let i = 0; i < count; i++) costs.push((await counting.counted(call)).cost);
    return perMessage(costs, count * messages);
  };
  const [body] = bodies;
  if (body === undefined) throw new Error('There is no body.');
  const sent = await rounds(ROUNDS, BATCH, () => sender.sendMessages(bodies));
  const { received, settled } = await receiveTogether(counting, receiver);
  const sentAtOnce = await rounds(ROUNDS, BATCH, () =>
    Promise.all(bodies.map((one) => sender.sendMessages(one))),
  );
  const subscribed = await rounds(1, ROUNDS * BATCH, () =>
    subscribe(client, queue, async () => {}),
  );
  for (let i = 0; i < ROUNDS; i++) await sender.sendMessages(bodies);
  const random = new LoadRandom('handlers');
  const spread = await rounds(1, ROUNDS * BATCH, () =>
    subscribe(client, queue, () => delay(random.below(HANDLER_MS_MAX))),
  );
  const sentSingly = await rounds(SINGLES, 1, () => sender.sendMessages(body));
  const passedSingly = await rounds(SINGLES, 1, async () => {
    const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: WAIT_MS });
    if (message !== undefined) await receiver.completeMessage(message);
  });
  await client.close();
  await counting.http.deleteQueue(queue);
  const both = (costs: typeof many) => addedUp([costs.receive, costs.settle]);
  return [
    { what: 'send a batch of 100', amqp: sent, http: many.send },
    { what: 'send 100 one by one, at once', amqp: sentAtOnce, http: many.send },
    { what: 'receive up to 100', amqp: received, http: many.receive },
    { what: 'complete them, at once', amqp: settled, http: many.settle },
    { what: 'subscribe, 100 calls at a time', amqp: subscribed, http: both(many) },
    { what: 'the same, each call up to 100 ms', amqp: spread, http: both(many) },
    { what: 'send one after the other', amqp: sentSingly, http: single.send },
    { what: 'receive and complete one by one', amqp: passedSingly, http: both(single) },
  ].map((row) => ({ body: set.name, ...row }));
}

async function receiveTogether(
  { counted }: CountingNamespace,
  receiver: ServiceBusReceiver,
): Promise<{ readonly received: OperationCost; readonly settled: OperationCost }> {
  const received: OperationCost[] = [];
  const settled: OperationCost[] = [];
  for (let left = ROUNDS * BATCH; left > 0; ) {
    const { answer, cost } = await counted(() =>
      receiver.receiveMessages(BATCH, { maxWaitTimeInMs: WAIT_MS }),
    );
    if (answer.length === 0) throw new Error('Messages are missing.');
    received.push(cost);
    const complete = (message: ServiceBusReceivedMessage) => receiver.completeMessage(message);
    settled.push((await counted(() => Promise.all(answer.map(complete)))).cost);
    left -= answer.length;
  }
  return {
    received: perMessage(received, ROUNDS * BATCH),
    settled: perMessage(settled, ROUNDS * BATCH),
  };
}

/** Passes all messages to a handler; each message is completed when the handler returns. */
async function subscribe(
  client: ServiceBusClient,
  queue: string,
  handle: () => Promise<void>,
): Promise<void> {
  const receiver = client.createReceiver(queue);
  let left = ROUNDS * BATCH;
  await new Promise<void>((resolve, reject) => {
    receiver.subscribe(
      {
        processMessage: async (message) => {
          await handle();
          await receiver.completeMessage(message);
          left--;
          if (left === 0) resolve();
        },
        processError: async ({ error }) => reject(error),
      },
      { maxConcurrentCalls: BATCH, autoCompleteMessages: false },
    );
  });
  await receiver.close();
}

function addedUp(costs: readonly OperationCost[]): OperationCost {
  return { ...perMessage(costs, 1), roundTrips: 0 };
}
