import { randomBytes } from 'node:crypto';
import {
  type CollectionLoad,
  CollectionUnits,
  secondsFor,
} from '../test/support/collection-units.ts';
import { standardBodies } from './bodies.ts';
import { type CountingNamespace, cycle, startCounting } from './counted-units.ts';
import { prepareSend } from './http-client.ts';

/** What one kind of queue does with one size of batch. */
export interface ScaleRow {
  readonly queue: string;
  readonly batch: number;
  /** Capacity units for a message: sent, received and completed. */
  readonly write: number;
  readonly read: number;
  /** What the busiest item collection has to do for a million messages, write units. */
  readonly busiest: number;
  /** Messages a second, as many as the busiest item collection lets through. */
  readonly perSecond: number;
}

/** Enough for every partition to have had its turn many times. */
const MESSAGES = { 1: 480, 100: 16_000 } as const;
const MILLION = 1_000_000;

/**
 * Finds out how many messages a plain queue and a partitioned one can move, if each item collection
 * gets what the service gives it: counted on a client that accounts units by collection.
 */
export async function measureScale(endpoint: string): Promise<readonly ScaleRow[]> {
  let units: CollectionUnits | undefined;
  const counting = await startCounting(endpoint, (client) => {
    units = new CollectionUnits(client);
  });
  if (units === undefined) throw new Error('Nobody watched the client.');
  const rows: ScaleRow[] = [];
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
): Promise<ScaleRow> {
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
