import { rounded } from '../markdown.ts';
import { type Configuration, type Observation, simulate } from './experiment.ts';
import { type Curve, durationOf } from './plan.ts';
import { extrapolatedRow, type Row, rowOf } from './verdict.ts';

/** One curve with its results. */
export interface MeasuredCurve {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** All curves: by rate, and by number of receivers. */
export interface ScaleTables {
  readonly seed: string;
  readonly rates: readonly MeasuredCurve[];
  readonly receivers: readonly MeasuredCurve[];
}

/** Simulates all loads of curves, one after the other, and prints the progress. */
export async function measureCurves(
  curves: readonly Curve[],
  seed: string,
): Promise<MeasuredCurve[]> {
  const measured: MeasuredCurve[] = [];
  for (const curve of curves) {
    console.log(`\n${curve.title}`);
    measured.push(await measure(curve, seed));
  }
  return measured;
}

async function measure(curve: Curve, seed: string): Promise<MeasuredCurve> {
  const observations: Observation[] = [];
  for (const configuration of curve.simulated) {
    const startedAt = performance.now();
    const observation = await simulate(configuration, durationOf(configuration), seed);
    observations.push(observation);
    printProgress(configuration, rowOf(observation), performance.now() - startedAt);
  }
  const rows = observations.map(rowOf);
  // Extrapolates from the largest load that is not saturated; if all are, from the smallest.
  const base = observations.findLast((_, i) => rows[i]?.isSaturated === false) ?? observations[0];
  const beyond = curve.extrapolated.flatMap((configuration) =>
    base === undefined ? [] : [extrapolatedRow(base, configuration)],
  );
  return { title: curve.title, rows: [...rows, ...beyond] };
}

function printProgress({ rate, receivers }: Configuration, row: Row, ms: number): void {
  const { delivered, latencies, isSaturated, limit } = row;
  console.log(
    `  ${rounded(rate)} msg/s for ${receivers} receivers: ${rounded(delivered)} delivered, ` +
      `${latencies.join(' / ')} ms, ${isSaturated ? 'saturated by' : 'closest'}: ${limit.limit} ` +
      `${Math.round(100 * limit.fraction)} % (${(ms / 1000).toFixed(0)} s)`,
  );
}
