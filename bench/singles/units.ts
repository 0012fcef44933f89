import { startEngine } from '../../local/engine/engine.ts';
import {
  type CountingNamespace,
  type OperationCost,
  perMessage,
  startCounting,
} from '../counted-units.ts';
import { type ClientKind, queuesOf } from './dynabus-queues.ts';
import { Ledger } from './ledger.ts';
import { receiveAll, sendUntil } from './measure.ts';
import type { SinglesPlan } from './plan.ts';
import type { QueueClients } from './queue-clients.ts';

/** What a message costs when so many clients make single calls at once. */
export interface SinglesUnits {
  readonly engine: string;
  readonly kind: ClientKind;
  readonly clients: number;
  readonly send: OperationCost;
  /** Received and completed, together. */
  readonly receive: OperationCost;
}

const MESSAGES_MIN = 100;
/** Enough that the first and the last calls, which have fewer beside them, do not count for much. */
const MESSAGES_PER_CLIENT = 8;

/** Counts every row of a plan in this process, on an engine in memory. */
export async function countSingles(
  kind: string | undefined,
  plan: SinglesPlan,
): Promise<readonly SinglesUnits[]> {
  const engine = await startEngine({ kind });
  try {
    const counting = await startCounting(engine.endpoint, { time: 'real' });
    counting.setAddedLatency('none');
    const rows: SinglesUnits[] = [];
    for (const { kind, clients } of plan.rows) {
      const cost = await count(counting, kind, clients);
      rows.push({ engine: engine.name, kind, clients, ...cost });
    }
    await counting.stop();
    return rows;
  } finally {
    await engine.stop();
  }
}

async function count(
  counting: CountingNamespace,
  kind: ClientKind,
  clients: number,
): Promise<Pick<SinglesUnits, 'send' | 'receive'>> {
  const queue = await queuesOf(counting, kind)(clients);
  // Opens all connections, and the queue's description is read.
  await pass(counting, { queue, clients, messages: clients });
  const messages = Math.max(MESSAGES_MIN, MESSAGES_PER_CLIENT * clients);
  const cost = await pass(counting, { queue, clients, messages });
  await queue.close();
  return cost;
}

/** The messages that pass through a queue while units are counted. */
interface Passage {
  readonly queue: QueueClients;
  readonly clients: number;
  readonly messages: number;
}

async function pass(
  { counted }: CountingNamespace,
  { queue, clients, messages }: Passage,
): Promise<Pick<SinglesUnits, 'send' | 'receive'>> {
  const ledger = new Ledger();
  const isOver = () => ledger.made >= messages;
  const sent = await counted(() => sendUntil(queue, ledger, { clients, batch: 1 }, isOver));
  const received = await counted(() => receiveAll(queue, ledger, 1));
  if (ledger.sent !== messages) throw new Error(`${ledger.sent} messages were sent.`);
  return {
    send: perMessage([sent.cost], messages),
    receive: perMessage([received.cost], messages),
  };
}
