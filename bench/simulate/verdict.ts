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
  /** Computed rows are drawn out from a simulated one, and know no latencies. */
  readonly isComputed: boolean;
  /** Messages a second that were received and completed. */
  readonly delivered: number;
  /** Whether less was delivered than offered. */
  readonly isBent: boolean;
  /** What bends it; of a row that is not bent, what is closest to it. */
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
  /** Functions at work at once, on average. */
  readonly concurrency: number;
  /** For a million messages. */
  readonly dollars: { readonly tables: number; readonly functions: number };
}

const SECOND = 1000;
/** The default of `cdk/settings.ts` for functions that clients wait for. */
export const MEGABYTES = 1024;
/** Less than this part of what is offered is too little. */
const KEEPS_UP = 0.95;
/** So many calls more may be under way at the end than at the beginning, by chance. */
const UNDER_WAY = 3;
/** Where fewer requests than this part of the messages are refused, refusals are not what bends. */
const MANY_REFUSALS = 0.02;
const PERCENTILES = [0.5, 0.95, 0.99];

/** Reads a row out of what was counted. */
export function rowOf(observation: Observation): Row {
  const { configuration, measures, measuredMs } = observation;
  const seconds = measuredMs / SECOND;
  const delivered = measures.delivered / seconds;
  const tolerated = (1 - KEEPS_UP) * measures.offered + UNDER_WAY * batchOf(configuration);
  const isBent = measures.offered - measures.delivered > tolerated;
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
    ...{ configuration, isComputed: false, delivered, isBent, perMessage },
    limit: isBent ? bendOf(observation) : closest,
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
 * A row for a rate that is not simulated, drawn out from one that kept up: what was used for each message offered
 * stays what it is, and what is used most of becomes the limit. At best: what clients that are refused do
 * besides is not in it.
 */
export function rowBeyond(observation: Observation, configuration: Configuration): Row {
  const row = rowOf(observation);
  const base = observation.configuration.rate;
  const [{ limit, fraction } = NOTHING] = usesOf(observation);
  const needed = (fraction * configuration.rate) / base;
  const delivered = configuration.rate / Math.max(1, needed);
  return {
    ...{ ...row, configuration, isComputed: true, delivered, isBent: needed > 1 },
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
 * What kept a load from being delivered. Refusals of the tables come first: while a request waits for
 * another try it holds a function, so they bring about those of Lambda.
 */
function bendOf(observation: Observation): Use {
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
