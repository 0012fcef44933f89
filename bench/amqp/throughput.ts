import { setTimeout as delay } from 'node:timers/promises';
import { ServiceBusClient } from '@azure/service-bus';
import type { BodySet } from '../bodies.ts';
import { cycle } from '../counted-units.ts';
import type { ServerProcess } from '../server-process.ts';
import { type Load, measureReceive, measureSend, perSecond } from '../throughput.ts';

/** Messages a second of the official client over one connection, and of as many clients over HTTP. */
export interface AmqpRate {
  readonly body: string;
  readonly what: string;
  /** Calls under way, or receivers. */
  readonly clients: number;
  readonly amqp: number;
  readonly http: number;
}

const BATCH = 100;
const CLIENTS = 4;
const CLIENTS_SINGLE = 32;
/** Longer than any measurement. */
const WAIT_MS = 60_000;

type Measure = (load: Load, bus: ServiceBusClient) => Promise<number>;

interface Way {
  readonly what: string;
  readonly batch: number;
  readonly clients: number;
  /** Whether messages must be sent before. */
  readonly takes: boolean;
  readonly amqp: Measure;
  readonly http: Measure;
}

const send = { takes: false, http: measureSend } as const;
const take = { takes: true, http: measureReceive, batch: BATCH } as const;
const WAYS: readonly Way[] = [
  { ...send, what: 'send batches of 100', batch: BATCH, clients: 1, amqp: sendBatches },
  { ...send, what: 'send batches of 100', batch: BATCH, clients: CLIENTS, amqp: sendBatches },
  { ...send, what: 'send one by one', batch: 1, clients: 1, amqp: sendSingly },
  { ...send, what: 'send one by one', batch: 1, clients: CLIENTS_SINGLE, amqp: sendSingly },
  { ...take, what: 'receive 100, complete them', clients: 1, amqp: receiveTogether },
  { ...take, what: 'receive 100, complete them', clients: CLIENTS, amqp: receiveTogether },
  { ...take, what: 'subscribe, 100 calls at a time', clients: 1, amqp: subscribe },
];

let queues = 0;

/** Measures each way for some time, over AMQP and right after that over HTTP. */
export async function measureAmqpRates(
  server: ServerProcess,
  set: BodySet,
  ms: number,
): Promise<readonly AmqpRate[]> {
  const rows: AmqpRate[] = [];
  for (const { what, batch, clients, takes, amqp, http } of WAYS) {
    const client = server.connect(CLIENTS);
    const many = server.connect(clients);
    const rateOf = async (measure: Measure): Promise<number> => {
      const queue = `bench-amqp-${queues++}`;
      await client.createQueue(queue, undefined);
      // Sending is faster than receiving, so these messages are enough.
      if (takes) await measureSend({ http: client, queue, set, batch, clients: CLIENTS, ms });
      const bus = new ServiceBusClient(server.connectionString);
      const rate = await measure({ http: many, queue, set, batch, clients, ms }, bus);
      await bus.close();
      await client.deleteQueue(queue);
      return rate;
    };
    rows.push({
      body: set.name,
      what,
      clients,
      amqp: await rateOf(amqp),
      http: await rateOf(http),
    });
    client.close();
    many.close();
  }
  return rows;
}

/** One batch for all calls, so that creating it is not measured. */
async function sendBatches(load: Load, bus: ServiceBusClient): Promise<number> {
  const sender = bus.createSender(load.queue);
  const batch = await sender.createMessageBatch();
  for (const body of cycle(load.set.bodies, BATCH)) {
    if (!batch.tryAddMessage({ body })) throw new Error('The batch is full.');
  }
  return await perSecond(load, () => async () => {
    await sender.sendMessages(batch);
    return BATCH;
  });
}

async function sendSingly(load: Load, bus: ServiceBusClient): Promise<number> {
  const sender = bus.createSender(load.queue);
  await sender.createMessageBatch();
  const [body] = load.set.bodies;
  return await perSecond(load, () => async () => {
    await sender.sendMessages({ body });
    return 1;
  });
}

async function receiveTogether(load: Load, bus: ServiceBusClient): Promise<number> {
  return await perSecond(load, () => {
    const receiver = bus.createReceiver(load.queue);
    return async () => {
      const messages = await receiver.receiveMessages(BATCH, { maxWaitTimeInMs: WAIT_MS });
      await Promise.all(messages.map((message) => receiver.completeMessage(message)));
      return messages.length;
    };
  });
}

async function subscribe({ queue, ms }: Load, bus: ServiceBusClient): Promise<number> {
  const receiver = bus.createReceiver(queue);
  let completed = 0;
  const subscription = receiver.subscribe(
    {
      processMessage: async (message) => {
        await receiver.completeMessage(message);
        completed++;
      },
      processError: async ({ error }) => {
        throw error;
      },
    },
    { maxConcurrentCalls: BATCH, autoCompleteMessages: false },
  );
  const begun = performance.now();
  await delay(ms);
  const rate = completed / ((performance.now() - begun) / 1000);
  await subscription.close();
  return rate;
}
