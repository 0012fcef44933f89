import { randomBytes } from 'node:crypto';
import { createDynamoClient } from '../../local/engine/dynamo-client.ts';
import { startEngine } from '../../local/engine/engine.ts';
import { ensureTables } from '../../local/tables.ts';
import { prepareSend } from '../http-client.ts';
import { engineKinds } from '../server-process.ts';
import { BENCH_TABLES, type CompetingProcess, startCompetingProcess } from './process.ts';
import { CompetingReceivers } from './receivers.ts';

/** The results of processes that compete for one queue. */
export interface CompetingRow {
  readonly engine: string;
  readonly processes: number;
  readonly messages: number;
  readonly perSecond: number;
  /** Shares of the receives that were answered before the last message was claimed. */
  readonly emptyShare: number;
  readonly busyShare: number;
  /** Capacity units for a message, received and completed. */
  readonly write: number;
  readonly read: number;
  /** Messages that were received more than once although no lock expired. */
  readonly seenTwice: number;
}

export interface CompetingOptions {
  /** An engine kind; absent = all that can run here. */
  readonly engine: string | undefined;
  readonly messages: number;
  readonly processes: readonly number[];
}

/** The default number of messages of `npm run bench`. */
export const COMPETING_MESSAGES = 2000;
export const COMPETING_PROCESSES = [1, 2, 8] as const;

const BODY_BYTES = 200;
/** Messages that each process handles before the measurement, so that its code is compiled. */
const WARM_UP_MESSAGES = 300;
const SENDERS = 8;

/**
 * Measures how processes that share only the tables empty one queue. Each process has one receiver, which locks one
 * message after the other without waiting, and completes it.
 */
export async function measureCompeting(
  options: CompetingOptions,
): Promise<readonly CompetingRow[]> {
  const rows: CompetingRow[] = [];
  for (const kind of engineKinds(options.engine)) {
    const engine = await startEngine({ kind });
    try {
      for (const processes of options.processes) {
        console.log(`${processes} competing processes, ${engine.name}`);
        const measured = await measure(engine.endpoint, processes, options.messages);
        rows.push({ engine: engine.name, ...measured });
      }
    } finally {
      await engine.stop();
    }
  }
  return rows;
}

async function measure(
  endpoint: string,
  count: number,
  messages: number,
): Promise<Omit<CompetingRow, 'engine'>> {
  const client = createDynamoClient(endpoint);
  await ensureTables(client, BENCH_TABLES);
  client.destroy();
  const namespace = `competing-${randomBytes(6).toString('hex')}`;
  const processes = await Promise.all(
    Array.from({ length: count }, () => startCompetingProcess(endpoint, namespace)),
  );
  try {
    await compete(processes, 'warm-up', WARM_UP_MESSAGES * count);
    return await compete(processes, 'measured', messages);
  } finally {
    await Promise.all(processes.map((each) => each.stop()));
  }
}

async function compete(
  processes: readonly CompetingProcess[],
  queue: string,
  messages: number,
): Promise<Omit<CompetingRow, 'engine'>> {
  await fill(processes, queue, messages);
  await Promise.all(processes.map((each) => each.units()));
  const receivers = new CompetingReceivers(queue, messages);
  await Promise.all(processes.map(({ http }) => receivers.receive(http)));
  const units = await Promise.all(processes.map((each) => each.units()));
  const sum = (unit: 'read' | 'write') => units.reduce((all, each) => all + each[unit], 0);
  return {
    processes: processes.length,
    messages,
    ...receivers.result(),
    write: sum('write') / messages,
    read: sum('read') / messages,
  };
}

/** Sends single messages through all processes, round robin. */
async function fill(
  processes: readonly CompetingProcess[],
  queue: string,
  messages: number,
): Promise<void> {
  await processes[0]?.http.createQueue(queue, undefined);
  const call = prepareSend([Buffer.alloc(BODY_BYTES, 'x')], false);
  let next = 0;
  const send = async () => {
    while (next < messages) await processes[next++ % processes.length]?.http.send(queue, call);
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
}
