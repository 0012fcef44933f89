import { setTimeout as delay } from 'node:timers/promises';
import type {
  ServiceBusClient,
  ServiceBusReceivedMessage,
  ServiceBusReceiver,
} from '@azure/service-bus';
import { LoadRandom } from '../../test/support/load-random.ts';
import type { BodySet } from '../bodies.ts';
import { type CountingNamespace, cycle, type OperationCost, perMessage } from '../counted-units.ts';

const ROUNDS = 4;
/** The messages of a batch, and the sends and the handlers at once. */
export const BATCH = 100;
const SINGLES = 8;
/** Longer than any of these takes. */
const WAIT_MS = 20_000;
const HANDLER_MS_MAX = 100;

/** What a message costs in each use of the official client. */
export interface PatternCosts {
  readonly sent: OperationCost;
  readonly sentAtOnce: OperationCost;
  readonly received: OperationCost;
  readonly settled: OperationCost;
  readonly subscribed: OperationCost;
  /** With handlers that take up to 100 ms. */
  readonly subscribedSlowly: OperationCost;
  readonly sentSingly: OperationCost;
  readonly passedSingly: OperationCost;
}

/** Counts what messages cost that a client sends, receives and settles. `queue` = an empty one. */
export async function countPatterns(
  counting: CountingNamespace,
  client: ServiceBusClient,
  queue: string,
  set: BodySet,
): Promise<PatternCosts> {
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
  const subscribedSlowly = await rounds(1, ROUNDS * BATCH, () =>
    subscribe(client, queue, () => delay(random.below(HANDLER_MS_MAX))),
  );
  const sentSingly = await rounds(SINGLES, 1, () => sender.sendMessages(body));
  const passedSingly = await rounds(SINGLES, 1, async () => {
    const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: WAIT_MS });
    if (message !== undefined) await receiver.completeMessage(message);
  });
  return {
    ...{ sent, sentAtOnce, received, settled },
    ...{ subscribed, subscribedSlowly, sentSingly, passedSingly },
  };
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
