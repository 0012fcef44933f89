import { rounded } from '../markdown.ts';
import { type Configuration, type Observation, simulate } from './experiment.ts';
import { type Curve, durationOf } from './plan.ts';
import { type Row, rowBeyond, rowOf } from './verdict.ts';

/** One curve with everything that was found out. */
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

/** Simulates all loads of some curves, one after the other, and prints how it goes on. */
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
  // The largest load that kept up says most about larger ones; where none did, the smallest.
  const base = observations.findLast((_, i) => rows[i]?.isBent === false) ?? observations[0];
  const beyond = curve.computed.flatMap((configuration) =>
    base === undefined ? [] : [rowBeyond(base, configuration)],
  );
  return { title: curve.title, rows: [...rows, ...beyond] };
}

function printProgress({ rate, receivers }: Configuration, row: Row, ms: number): void {
  const { delivered, latencies, isBent, limit } = row;
  console.log(
    `  ${rounded(rate)} msg/s for ${receivers} receivers: ${rounded(delivered)} delivered, ` +
      `${latencies.join(' / ')} ms, ${isBent ? 'bent by' : 'closest'}: ${limit.limit} ` +
      `${Math.round(100 * limit.fraction)} % (${(ms / 1000).toFixed(0)} s)`,
  );
}
