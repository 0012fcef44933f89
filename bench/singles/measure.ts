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
  /** How many messages are sent at most. Default: no limit. */
  readonly messagesMax?: number;
}

/** Messages a second of all clients together. */
export interface CallRates {
  readonly sent: number;
  readonly completed: number;
}

/** If no message is completed for so long, the rest is lost. */
const STANDSTILL_MS_MAX = 60_000;

/**
 * Sends for a time, then receives and completes: with `takesAll` everything that was sent, and otherwise until the time
 * is over or the queue is empty. Throws if a message is completed twice or is missing.
 */
export async function measureCalls(
  open: OpenQueue,
  load: CallLoad,
  takesAll: boolean,
): Promise<CallRates> {
  const queue = await open(load.clients);
  try {
    const ledger = new Ledger();
    const { ms, messagesMax = Number.POSITIVE_INFINITY } = load;
    const begun = performance.now();
    const isOver = () => performance.now() - begun >= ms || ledger.made >= messagesMax;
    await sendUntil(queue, ledger, load, isOver);
    const sent = ledger.sent / secondsSince(begun);
    const enough = takesAll ? standstill(ledger) : delay(ms, undefined, { ref: false });
    return { sent, completed: await receiveUntil(queue, ledger, load.batch, enough) };
  } finally {
    await queue.close();
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
  await receiveUntil(queue, ledger, batch, standstill(ledger));
}

/** Receives and completes until all is completed or `enough` resolves. Returns messages a second. */
async function receiveUntil(
  queue: QueueClients,
  ledger: Ledger,
  batch: number,
  enough: Promise<void>,
): Promise<number> {
  const begun = performance.now();
  const all = ledger.allCompleted();
  const receiving = await queue.receive(batch, ledger);
  try {
    await Promise.race([all, enough]);
    return ledger.completedCount / secondsSince(begun);
  } finally {
    await receiving.stop();
  }
}

/** Throws once no message was completed for so long that the rest is lost. */
async function standstill(ledger: Ledger): Promise<void> {
  for (let before = -1; ledger.completedCount < ledger.sent; ) {
    if (ledger.completedCount === before) {
      throw new Error(`${ledger.sent - before} of ${ledger.sent} messages are missing.`);
    }
    before = ledger.completedCount;
    await delay(STANDSTILL_MS_MAX, undefined, { ref: false });
  }
}

function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1000;
}
