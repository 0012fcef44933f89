import { setTimeout as delay } from 'node:timers/promises';
import { Ledger } from './ledger.ts';
import type { OpenQueue, QueueClients } from './queue-clients.ts';

/** The load of one measurement. */
export interface CallLoad {
  readonly clients: number;
  /** The messages of a call. */
  readonly batch: number;
  /** How long each rate is measured, at most. */
  readonly ms: number;
}

/** Messages a second of all clients together. */
export interface CallRates {
  readonly sent: number;
  readonly completed: number;
}

/** A broker that does not deliver the rest of the messages in this time has lost some. */
const REST_MS_MAX = 120_000;

/**
 * Sends for a time, then receives and completes until the time is over or the queue is empty. With `takesAll` the rest is
 * received and completed after the measurement. Throws if a message is completed twice or is missing.
 */
export async function measureCalls(
  open: OpenQueue,
  load: CallLoad,
  takesAll: boolean,
): Promise<CallRates> {
  const queue = await open(load.clients);
  try {
    const ledger = new Ledger();
    const begun = performance.now();
    await sendUntil(queue, ledger, load, () => performance.now() - begun >= load.ms);
    const sent = ledger.sent / secondsSince(begun);
    return { sent, completed: await measureReceive(queue, ledger, load, takesAll) };
  } finally {
    await queue.close();
  }
}

async function measureReceive(
  queue: QueueClients,
  ledger: Ledger,
  { batch, ms }: CallLoad,
  takesAll: boolean,
): Promise<number> {
  const begun = performance.now();
  const all = ledger.allCompleted();
  const receiving = await queue.receive(batch, ledger);
  try {
    await Promise.race([all, delay(ms, undefined, { ref: false })]);
    const rate = ledger.completedCount / secondsSince(begun);
    if (takesAll) await Promise.race([all, tooLate(ledger)]);
    return rate;
  } finally {
    await receiving.stop();
  }
}

/** Sends with all clients, call after call, until `isOver`. */
export async function sendUntil(
  queue: QueueClients,
  ledger: Ledger,
  { clients, batch }: Pick<CallLoad, 'clients' | 'batch'>,
  isOver: () => boolean,
): Promise<void> {
  const run = async (client: number) => {
    while (!isOver()) {
      await queue.send(client, ledger.next(batch));
      ledger.confirm(batch);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
}

/** Receives and completes everything that was sent. Throws if a message is completed twice or is missing. */
export async function receiveAll(
  queue: QueueClients,
  ledger: Ledger,
  batch: number,
): Promise<void> {
  const all = ledger.allCompleted();
  const receiving = await queue.receive(batch, ledger);
  try {
    await Promise.race([all, tooLate(ledger)]);
  } finally {
    await receiving.stop();
  }
}

async function tooLate(ledger: Ledger): Promise<never> {
  await delay(REST_MS_MAX, undefined, { ref: false });
  throw new Error(`${ledger.sent - ledger.completedCount} messages are missing.`);
}

function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1000;
}
