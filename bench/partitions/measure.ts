import { randomBytes } from 'node:crypto';
import {
  type CollectionLoad,
  CollectionUnits,
  secondsFor,
} from '../../test/support/collection-units.ts';
import { standardBodies } from '../bodies.ts';
import { type CountingNamespace, cycle, startCounting } from '../counted-units.ts';
import { prepareSend } from '../http-client.ts';

/** The throughput of one kind of queue with one size of batch. */
export interface PartitionRow {
  readonly queue: string;
  readonly batch: number;
  /** Capacity units for a message: sent, received and completed. */
  readonly write: number;
  readonly read: number;
  /** Write units of the busiest item collection for a million messages. */
  readonly busiest: number;
  /** Messages a second if the busiest item collection is the bottleneck. */
  readonly perSecond: number;
}

/** Enough for every partition to be selected many times. */
const MESSAGES = { 1: 480, 100: 16_000 } as const;
const MILLION = 1_000_000;

/**
 * Calculates the throughput of a plain queue and of a partitioned one from the units that each item collection
 * consumes and the limit of the service for one collection.
 */
export async function measurePartitions(endpoint: string): Promise<readonly PartitionRow[]> {
  let units: CollectionUnits | undefined;
  const counting = await startCounting(endpoint, {
    watch: (client) => {
      units = new CollectionUnits(client);
    },
  });
  if (units === undefined) throw new Error('Nobody watched the client.');
  const rows: PartitionRow[] = [];
  for (const batch of [1, 100] as const) {
    for (const isPartitioned of [false, true]) {
      rows.push(await measure(counting, units, batch, isPartitioned));
    }
  }
  await counting.stop();
  return rows;
}

async function measure(
  { http, counted }: CountingNamespace,
  units: CollectionUnits,
  batch: keyof typeof MESSAGES,
  isPartitioned: boolean,
): Promise<PartitionRow> {
  const queue = `scale-${randomBytes(6).toString('hex')}`;
  if (isPartitioned)
    await http.createQueueWith(queue, '<EnablePartitioning>true</EnablePartitioning>');
  else await http.createQueue(queue, undefined);
  const [{ bodies } = { bodies: [] }] = standardBodies();
  const call = prepareSend(cycle(bodies, batch), batch > 1);
  const messages = MESSAGES[batch];
  units.take();
  const { cost } = await counted(async () => {
    for (let sent = 0; sent < messages; sent += batch) await http.send(queue, call);
    for (let left = messages; left > 0; ) {
      const { locks } = await http.receive(queue, batch);
      if (locks.length === 0) throw new Error(`${left} messages are missing.`);
      await http.complete(queue, locks);
      left -= locks.length;
    }
  });
  const loads = units.take();
  await http.deleteQueue(queue);
  return {
    queue: isPartitioned ? '16 partitions' : 'plain',
    batch,
    write: cost.write / messages,
    read: cost.read / messages,
    busiest: (busiestOf(loads) / messages) * MILLION,
    perSecond: messages / secondsFor(loads),
  };
}

function busiestOf(loads: ReadonlyMap<string, CollectionLoad>): number {
  return Math.max(0, ...[...loads.values()].map(({ write }) => write));
}
