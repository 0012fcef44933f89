import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceBusClient, ServiceBusReceivedMessage } from '@azure/service-bus';

/** The measurements of a client that sends at a steady rate, receives and completes. */
export interface Steady {
  /** Messages that were sent, received and completed, a second. */
  readonly perSecond: number;
  /** From the instant at which a message was to be sent until it was completed, ms. */
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  /** Calls that failed, after the client's own retries. */
  readonly failures: number;
}

const BODY_BYTES = 200;
const TICK_MS = 1;
/** The time for the last messages after the sending ends. */
const GRACE_MS = 5000;

/**
 * Sends at a steady rate regardless of earlier sends (open loop), and measures from the instant at which each message
 * was due to be sent. So a stall counts in the latencies of all messages that it delayed.
 */
export async function runSteadily(
  client: ServiceBusClient,
  queue: string,
  { rate, ms, isOver }: { rate: number; ms: number; isOver: () => boolean },
): Promise<Steady> {
  const sender = client.createSender(queue);
  const took = new Map<number, number>();
  let failures = 0;
  const run = `run-${performance.now()}`;
  await sender.sendMessages({ body: Buffer.alloc(BODY_BYTES) });
  const begun = performance.now();
  const dueAt = (index: number) => begun + (index * 1000) / rate;
  const receiver = client.createReceiver(queue);
  const complete = async (message: ServiceBusReceivedMessage) => {
    await receiver.completeMessage(message);
    const { index, of } = message.applicationProperties ?? {};
    if (typeof index === 'number' && of === run && !took.has(index)) {
      took.set(index, performance.now() - dueAt(index));
    }
  };
  const fail = () => {
    failures++;
  };
  const subscription = receiver.subscribe(
    {
      processMessage: (message) => complete(message).catch(fail),
      processError: async () => fail(),
    },
    { maxConcurrentCalls: 100, autoCompleteMessages: false },
  );
  const count = Math.round((rate * ms) / 1000);
  for (let sent = 0; sent < count && !isOver(); await delay(TICK_MS)) {
    for (; sent < count && dueAt(sent) <= performance.now(); sent++) {
      const applicationProperties = { index: sent, of: run };
      sender.sendMessages({ body: Buffer.alloc(BODY_BYTES), applicationProperties }).catch(fail);
    }
  }
  const endsAt = performance.now() + GRACE_MS;
  while (took.size < count && performance.now() < endsAt && !isOver()) await delay(10);
  if (!isOver()) await Promise.all([subscription.close(), sender.close()]);
  // A message that was never received has an infinite latency.
  const missing = Array<number>(count - took.size).fill(Number.POSITIVE_INFINITY);
  const sorted = [...took.values(), ...missing].sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  const perSecond = (took.size * 1000) / ms;
  return { perSecond, p50: at(0.5), p99: at(0.99), worst: at(1), failures };
}
