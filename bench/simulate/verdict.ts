import { dollarsPerMillion, durationDollarsPerMillion, PRICES } from '../prices.ts';
import { batchOf, type Configuration, type Observation } from './experiment.ts';
import { contentOf } from './item-collections.ts';
import type { Measures } from './measures.ts';
import { COLLECTION_UNITS, invocationRate } from './quotas.ts';

/** How much of a limit is used, as a fraction; above 1 it cannot last. */
export interface Use {
  readonly limit: string;
  readonly fraction: number;
}

/** One row of the table. */
export interface Row {
  readonly configuration: Configuration;
  /** Whether the row is extrapolated from a simulated one; then it has no latencies. */
  readonly isExtrapolated: boolean;
  /** Messages a second that were received and completed. */
  readonly delivered: number;
  /** Whether less was delivered than offered. */
  readonly isSaturated: boolean;
  /** The bottleneck; of a row that is not saturated, the limit that is used most. */
  readonly limit: Use;
  /** p50, p95 and p99, ms. */
  readonly latencies: readonly number[];
  /** For each message delivered. */
  readonly perMessage: {
    readonly write: number;
    readonly read: number;
    readonly refusals: number;
    readonly lostRaces: number;
  };
  /** Functions that run at the same time, on average. */
  readonly concurrency: number;
  /** For a million messages. */
  readonly dollars: { readonly tables: number; readonly functions: number };
}

const SECOND = 1000;
/** The larger of the defaults of `cdk/settings.ts`: that of functions that send and settle. */
export const MEGABYTES = 512;
/** A load that delivers less than this fraction of what is offered is saturated. */
const KEEPS_UP = 0.95;
/** Calls by which those under way may have grown by chance from the beginning to the end. */
const UNDER_WAY = 3;
/** Refusals of fewer requests than this fraction of the messages are not the bottleneck. */
const MANY_REFUSALS = 0.02;
const PERCENTILES = [0.5, 0.95, 0.99];

/** Returns the row of an observation. */
export function rowOf(observation: Observation): Row {
  const { configuration, measures, measuredMs } = observation;
  const seconds = measuredMs / SECOND;
  const delivered = measures.delivered / seconds;
  const tolerated = (1 - KEEPS_UP) * measures.offered + UNDER_WAY * batchOf(configuration);
  const isSaturated = measures.offered - measures.delivered > tolerated;
  const per = (count: number) => count / Math.max(1, measures.delivered);
  const perMessage = {
    write: per(measures.write),
    read: per(measures.read),
    refusals: per(sum([...measures.refusals.values()])),
    lostRaces: per(measures.lostRaces),
  };
  const sorted = [...measures.latencies].sort((a, b) => a - b);
  const at = (fraction: number) => sorted[Math.floor(fraction * sorted.length)] ?? 0;
  const [closest = NOTHING] = usesOf(observation);
  return {
    ...{ configuration, isExtrapolated: false, delivered, isSaturated, perMessage },
    limit: isSaturated ? bottleneckOf(observation) : closest,
    latencies: PERCENTILES.map(at),
    concurrency: measures.billedMs / measuredMs,
    dollars: {
      tables: dollarsPerMillion(perMessage),
      functions:
        per(measures.calls) * PRICES.perMillionHttpRequests +
        per(measures.invocations) * PRICES.perMillionInvocations +
        durationDollarsPerMillion(per(measures.billedMs), MEGABYTES),
    },
  };
}

/**
 * Returns a row for a rate that is not simulated, extrapolated from an observation that was not saturated: each offered
 * message uses the same as there, and the limit that is used most becomes the bottleneck. This is the best case,
 * because it leaves out the repeated calls of clients that are refused.
 */
export function extrapolatedRow(observation: Observation, configuration: Configuration): Row {
  const row = rowOf(observation);
  const base = observation.configuration.rate;
  const [{ limit, fraction } = NOTHING] = usesOf(observation);
  const needed = (fraction * configuration.rate) / base;
  const delivered = configuration.rate / Math.max(1, needed);
  return {
    ...{ ...row, configuration, isExtrapolated: true, delivered, isSaturated: needed > 1 },
    latencies: [],
    concurrency: (row.concurrency * delivered) / base,
    limit: { limit, fraction: needed },
  };
}

const NOTHING: Use = { limit: 'nothing', fraction: 0 };

/** How much of each limit was used, the most first. */
function usesOf({ configuration, measures, measuredMs }: Observation): readonly Use[] {
  const { quotas } = configuration;
  const seconds = measuredMs / SECOND;
  const of = (limit: string, count: number, perSecond: number): Use => ({
    limit,
    fraction: count / seconds / perSecond,
  });
  const uses = [
    ...collectionUses(measures, seconds),
    of('table, write units', measures.write, quotas.tableUnits),
    of('table, read units', measures.read, quotas.tableUnits),
    of('API Gateway, requests', measures.calls, quotas.requests.rate),
    of('Lambda, invocations', measures.invocations, invocationRate(quotas)),
    of('Lambda, concurrency', measures.billedMs / SECOND, quotas.concurrency),
  ];
  return uses.sort((a, b) => b.fraction - a.fraction);
}

function collectionUses({ collections }: Measures, seconds: number): readonly Use[] {
  return [...collections].flatMap(([pk, load]) =>
    (['write', 'read'] as const).map((kind) => ({
      limit: `${contentOf(pk)}, ${kind} units`,
      fraction: load[kind] / seconds / COLLECTION_UNITS[kind],
    })),
  );
}

/**
 * Returns the bottleneck of a saturated load. Refusals of the tables come first, because they cause those of Lambda: a
 * request that waits for its next try occupies a function.
 */
function bottleneckOf(observation: Observation): Use {
  const { measures } = observation;
  const used = (limit: string) =>
    usesOf(observation).find((use) => use.limit === limit)?.fraction ?? 1;
  const refusals = [...measures.refusals].sort(([, a], [, b]) => b - a);
  const ofTables = refusals.filter(([refuser]) => refuser.endsWith('units'));
  for (const [limit, count] of [...ofTables, ...refusals]) {
    if (count > MANY_REFUSALS * measures.offered) return { limit, fraction: used(limit) };
  }
  const limit = measures.lostRaces > measures.delivered ? 'lost races' : 'receivers';
  return { limit, fraction: 1 };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}
