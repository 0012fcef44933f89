import { Random } from '../../test/simulation/machines/random.ts';
import { Timeline } from '../../test/simulation/machines/timeline.ts';
import { SimulatedDatabase } from '../../test/simulation/tables/database.ts';
import { standardBodies } from '../bodies.ts';
import { drainBurstCapacity } from './burst-capacity.ts';
import { Clients } from './clients.ts';
import { Deployment } from './deployment.ts';
import { Measures } from './measures.ts';
import { TableUnits } from './metered-network.ts';
import type { Quotas } from './quotas.ts';

/** One load on one kind of queue. */
export interface Configuration {
  readonly isPartitioned: boolean;
  /** Messages in a call, sent and received, at most. */
  readonly batch: number;
  /** Messages a second that senders offer. */
  readonly rate: number;
  readonly receivers: number;
  readonly quotas: Quotas;
}

/** How long a load lasts before it is measured, and while it is, virtual ms. */
export interface Duration {
  readonly warmUpMs: number;
  readonly measuredMs: number;
}

/** The measurements of one load. */
export interface Observation {
  readonly configuration: Configuration;
  readonly measures: Measures;
  readonly measuredMs: number;
  /** The number of simulated events. */
  readonly events: number;
}

/** The largest lag of an eventually consistent read, ms. In the service it is usually smaller. */
export const STALE_MS_MAX = 20;
const QUEUE = 'orders';
/** The burst capacity is used up this long before measuring, ms; then a small load may save some again. */
const DRAIN_BEFORE_MS = 1000;
/** Longer than creating any queue takes. */
const CREATION_MS_MAX = 60_000;

/**
 * Runs a load on a new deployment in virtual time and measures it. The same seed gives the same numbers. Throws the
 * first error of a client that is not a refusal for now.
 */
export async function simulate(
  configuration: Configuration,
  { warmUpMs, measuredMs }: Duration,
  seed: string,
): Promise<Observation> {
  const { quotas, isPartitioned, rate, receivers } = configuration;
  const random = new Random(seed);
  const timeline = new Timeline();
  const staleness = random.fork('staleness');
  const measures = new Measures();
  const database = new SimulatedDatabase({
    now: () => timeline.now,
    random: () => staleness.fraction(),
    staleMsMax: STALE_MS_MAX,
  });
  const tableUnits = new TableUnits(quotas, { timeline });
  const parts = { timeline, database, random, tableUnits, measures };
  const deployment = new Deployment(quotas, parts);
  const queue = await finish(timeline, deployment.createQueue(QUEUE, isPartitioned));
  const clients = new Clients({
    ...{ deployment, timeline, measures, path: QUEUE },
    random: random.fork('clients'),
    bodies: standardBodies()[0]?.bodies ?? [],
  });
  const batch = batchOf(configuration);
  clients.receive(receivers, configuration.batch);
  clients.send(rate, batch);
  const startAt = timeline.now + warmUpMs;
  const isPast = (instant: number) => () =>
    timeline.now >= instant || clients.failure !== undefined;
  await timeline.runUntil(isPast(startAt - DRAIN_BEFORE_MS));
  drainBurstCapacity(database, queue);
  await timeline.runUntil(isPast(startAt));
  deployment.account();
  measures.restart();
  await timeline.runUntil(isPast(startAt + measuredMs));
  deployment.account();
  if (clients.failure !== undefined) throw clients.failure;
  return { configuration, measures, measuredMs, events: timeline.count };
}

/** The number of messages in a call; at low rates, those of one second. */
export function batchOf({ batch, rate }: Configuration): number {
  return Math.max(1, Math.min(batch, rate));
}

async function finish<Value>(timeline: Timeline, work: Promise<Value>): Promise<Value> {
  let isOver = false;
  const watched = work.finally(() => {
    isOver = true;
  });
  // A rejection is thrown below; until then it must not count as unhandled.
  watched.catch(() => {});
  const limit = timeline.now + CREATION_MS_MAX;
  await timeline.runUntil(() => isOver || timeline.now > limit);
  return await watched;
}
