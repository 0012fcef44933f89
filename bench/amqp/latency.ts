import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceBusClient } from '@azure/service-bus';
import type { ServerProcess } from '../server-process.ts';

/** The latency of messages from the send to the handler, ms. */
export interface AmqpLatency {
  readonly what: string;
  /** Messages a second. */
  readonly rate: number;
  readonly messages: number;
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
}

/** The server to which messages are sent, and the one from which they are received. */
export interface Passage {
  readonly what: string;
  readonly from: ServerProcess;
  readonly to: ServerProcess;
}

/** The passages between two servers, without the stream of the table and with it. */
export const APART = {
  plain: 'from one server to another',
  streamed: 'the same, by the stream of the table',
} as const;

const BODY_BYTES = 200;
const TICK_MS = 1;

/**
 * Sends at a steady rate regardless of earlier sends (open loop), and measures from the instant at which each message
 * was due to be sent. So a stall counts in the latencies of all messages that it delayed (no coordinated omission).
 */
export async function measureLatency(
  { what, from, to }: Passage,
  rate: number,
  ms: number,
): Promise<AmqpLatency> {
  const queue = `bench-latency-${randomBytes(6).toString('hex')}`;
  const http = from.connect(1);
  await http.createQueue(queue, undefined);
  const [sending, receiving] = [from, to].map((one) => new ServiceBusClient(one.connectionString));
  if (sending === undefined || receiving === undefined) throw new Error('There are two clients.');
  const sender = sending.createSender(queue);
  const count = Math.round((rate * ms) / 1000);
  const dueAt: number[] = [];
  const took: number[] = [];
  // A first message opens the links.
  await sender.sendMessages({ body: Buffer.alloc(BODY_BYTES) });
  const all = receiveAll(receiving, queue, count + 1, (index) => {
    took.push(performance.now() - (dueAt[index] ?? 0));
  });
  await all.begun;
  const begun = performance.now();
  const sends: Promise<void>[] = [];
  while (sends.length < count) {
    while (sends.length < count && begun + (sends.length * 1000) / rate <= performance.now()) {
      dueAt.push(begun + (sends.length * 1000) / rate);
      const body = Buffer.alloc(BODY_BYTES);
      sends.push(sender.sendMessages({ body, applicationProperties: { index: sends.length } }));
    }
    await delay(TICK_MS);
  }
  await Promise.all(sends);
  await all.ended;
  await Promise.all([sending.close(), receiving.close()]);
  await http.deleteQueue(queue);
  http.close();
  const sorted = took.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { what, rate, messages: count, p50: at(0.5), p99: at(0.99), worst: at(1) };
}

/** Calls `came` with the index of each message received. The first message has none; it resolves `begun`. */
function receiveAll(
  client: ServiceBusClient,
  queue: string,
  count: number,
  came: (index: number) => void,
): { readonly begun: Promise<void>; readonly ended: Promise<void> } {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let left = count;
  const ended = new Promise<void>((resolve, reject) => {
    client.createReceiver(queue).subscribe(
      {
        processMessage: async ({ applicationProperties }) => {
          const index = applicationProperties?.['index'];
          if (typeof index === 'number') came(index);
          else begin();
          left--;
          if (left === 0) resolve();
        },
        processError: async ({ error }) => reject(error),
      },
      { maxConcurrentCalls: 100 },
    );
  });
  return { begun, ended };
}
