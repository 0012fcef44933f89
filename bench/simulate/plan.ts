import { batchOf, type Configuration, type Duration } from './experiment.ts';
import { DEFAULT_QUOTAS, type Quotas, RAISED_QUOTAS } from './quotas.ts';

/** Loads on one kind of queue, from small to large; rows beyond the simulated ones are extrapolated. */
export interface Curve {
  readonly title: string;
  readonly simulated: readonly Configuration[];
  readonly extrapolated: readonly Configuration[];
}

const SINGLE = 1;
const BATCH = 100;

/** Enough receivers that they are not the bottleneck; at least two, as a service has for availability. */
function receiversFor(rate: number, batch: number): number {
  return Math.max(2, Math.min(1000, Math.ceil(batch === SINGLE ? rate / 12 : rate / 300)));
}

function curve(
  isPartitioned: boolean,
  batch: number,
  quotas: Quotas,
  rates: { readonly simulated: readonly number[]; readonly extrapolated: readonly number[] },
): Curve {
  const queue = isPartitioned ? 'Partitioned queue' : 'Plain queue';
  const calls = batch === SINGLE ? 'singles' : `batches of ${BATCH}`;
  const of = (rate: number): Configuration => ({
    ...{ isPartitioned, batch, rate, quotas },
    receivers: receiversFor(rate, batch),
  });
  return {
    title: `${queue}, ${calls}, ${quotas.name} quotas`,
    simulated: rates.simulated.map(of),
    extrapolated: rates.extrapolated.map(of),
  };
}

/** From 10 to 100,000 messages a second. */
export const RATE_CURVES: readonly Curve[] = [
  curve(false, SINGLE, RAISED_QUOTAS, {
    simulated: [10, 100, 200, 300, 400, 1000],
    extrapolated: [10_000, 100_000],
  }),
  curve(true, SINGLE, RAISED_QUOTAS, {
    simulated: [10, 100, 1000, 2000, 4000],
    extrapolated: [10_000, 100_000],
  }),
  curve(false, BATCH, RAISED_QUOTAS, {
    simulated: [10, 100, 1000, 3000, 5000, 7000, 10_000],
    extrapolated: [100_000],
  }),
  curve(true, BATCH, RAISED_QUOTAS, {
    simulated: [10, 100, 1000, 10_000, 30_000, 60_000, 100_000],
    extrapolated: [],
  }),
  curve(true, SINGLE, DEFAULT_QUOTAS, { simulated: [500, 1000], extrapolated: [10_000, 100_000] }),
  curve(true, BATCH, DEFAULT_QUOTAS, { simulated: [10_000, 30_000], extrapolated: [100_000] }),
];

function receivers(
  title: string,
  load: Omit<Configuration, 'receivers' | 'quotas'>,
  counts: readonly number[],
  quotas: Quotas = DEFAULT_QUOTAS,
): Curve {
  const simulated = counts.map((count) => ({ ...load, receivers: count, quotas }));
  return { title, simulated, extrapolated: [] };
}

/** From 1 to 1,000 receivers of the same load. */
export const RECEIVER_CURVES: readonly Curve[] = [
  receivers(
    'Plain queue, singles',
    { isPartitioned: false, batch: SINGLE, rate: 100 },
    [1, 10, 100, 1000],
  ),
  receivers(
    'Partitioned queue, singles',
    { isPartitioned: true, batch: SINGLE, rate: 300 },
    [1, 10, 100, 1000],
  ),
  receivers(
    'Plain queue, batches of 100',
    { isPartitioned: false, batch: BATCH, rate: 3000 },
    [1, 10, 100, 1000],
  ),
  receivers(
    'Partitioned queue, batches of 100',
    { isPartitioned: true, batch: BATCH, rate: 10_000 },
    [1, 10, 100, 1000],
  ),
];

/** A few loads, for a first look. */
export const QUICK_CURVES: readonly Curve[] = [
  curve(false, SINGLE, DEFAULT_QUOTAS, { simulated: [100, 400], extrapolated: [100_000] }),
  curve(true, BATCH, DEFAULT_QUOTAS, { simulated: [1000], extrapolated: [100_000] }),
];

/** Sends that are measured for a row, within the bounds of the measured time. */
const CALLS = 600;
const MEASURED_MS = { least: 1500, most: 20_000 } as const;
/** After this time functions have started and filled their caches. */
const WARM_UP_MS = 2000;

/** How long a load is simulated: longer if there are fewer calls. */
export function durationOf(configuration: Configuration): Duration {
  const callsPerMs = configuration.rate / batchOf(configuration) / 1000;
  const wantedMs = Math.ceil(CALLS / callsPerMs);
  const measuredMs = Math.max(MEASURED_MS.least, Math.min(MEASURED_MS.most, wantedMs));
  return { warmUpMs: WARM_UP_MS, measuredMs };
}
