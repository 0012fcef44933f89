import { loadavg } from 'node:os';
import { startEngine } from '../../local/engine/engine.ts';
import { type BodySet, standardBodies } from '../bodies.ts';
import { startCounting } from '../counted-units.ts';
import { type ServerOptions, startServerProcess } from '../server-process.ts';
import { measureRates } from '../throughput.ts';
import { type AmqpIdle, measureIdle } from './idle.ts';
import { type AmqpLatency, APART, measureLatency, type Passage } from './latency.ts';
import { type AmqpMemory, measureMemory } from './memory.ts';
import { type AmqpRate, measureAmqpRates } from './throughput.ts';
import { type AmqpUnits, countAmqp } from './units.ts';

/** The results of the official client over AMQP. */
export interface AmqpSection {
  readonly load: number;
  readonly units: readonly AmqpUnits[];
  readonly idle: readonly AmqpIdle[];
  readonly rates: readonly AmqpRate[];
  readonly latencies: readonly AmqpLatency[];
  readonly memory: readonly AmqpMemory[];
}

/** How long is measured, ms. */
export interface AmqpTimes {
  readonly warmUp: number;
  readonly measured: number;
}

const SETS = 2;
const RATES = [10, 1000] as const;
/** Factors of the measured time: a low rate needs longer for its percentiles. */
const LATENCY_TIMES = { 10: 12, 1000: 4 } as const;
/** A receiver asks less often once it has waited for a minute. */
const IDLE_TIMES_MS = {
  full: { settleMs: 90_000, ms: 60_000 },
  quick: { settleMs: 80_000, ms: 30_000 },
} as const;

/** Measures receivers that wait, and nothing else; `isQuick` = for less long. */
export async function benchIdle(
  isQuick: boolean,
  kind: string | undefined,
): Promise<readonly AmqpIdle[]> {
  const engine = await startEngine({ kind });
  try {
    const counting = await startCounting(engine.endpoint, { time: 'real' });
    const idle = await measureIdle(counting, IDLE_TIMES_MS[isQuick ? 'quick' : 'full']);
    await counting.stop();
    return idle;
  } finally {
    await engine.stop();
  }
}

/** Counts and measures everything of this section. */
export async function measureAmqp(
  times: AmqpTimes,
  options: ServerOptions,
  isQuick: boolean,
): Promise<AmqpSection> {
  const [load = 0] = loadavg();
  const sets = standardBodies().slice(0, SETS);
  const units = await countAll(sets, options.engine);
  console.log('Measuring receivers that wait');
  const idle = await benchIdle(isQuick, options.engine);
  const server = await startServerProcess(options);
  try {
    console.log('Measuring AMQP');
    const memory = await measureMemory(server);
    const [small] = sets;
    if (small !== undefined) await measureRates(server, small, 100, times.warmUp / 4);
    const rates: AmqpRate[] = [];
    for (const set of sets) rates.push(...(await measureAmqpRates(server, set, times.measured)));
    const latencies = [
      ...(await measureLatencies({ what: 'one server', from: server, to: server }, times)),
      ...(await measureApart(times, options)),
    ];
    return { load, units, idle, rates, latencies, memory };
  } finally {
    await server.stop();
  }
}

async function countAll(
  sets: readonly BodySet[],
  kind: string | undefined,
): Promise<readonly AmqpUnits[]> {
  const engine = await startEngine({ kind });
  try {
    console.log('Counting units over AMQP');
    const counting = await startCounting(engine.endpoint, { time: 'real' });
    const units: AmqpUnits[] = [];
    for (const set of sets) units.push(...(await countAmqp(counting, set)));
    await counting.stop();
    return units;
  } finally {
    await engine.stop();
  }
}

async function measureLatencies(
  passage: Passage,
  { measured }: AmqpTimes,
): Promise<readonly AmqpLatency[]> {
  const rows: AmqpLatency[] = [];
  for (const rate of RATES) {
    rows.push(await measureLatency(passage, rate, measured * LATENCY_TIMES[rate]));
  }
  return rows;
}

/**
 * Starts two servers over one engine. A send to one does not wake a receiver of the other, unless they read the stream
 * of the table.
 */
async function measureApart(
  times: AmqpTimes,
  options: ServerOptions,
): Promise<readonly AmqpLatency[]> {
  return [
    ...(await measureBetween(APART.plain, false, times, options)),
    ...(await measureBetween(APART.streamed, true, times, options)),
  ];
}

async function measureBetween(
  what: string,
  stream: boolean,
  times: AmqpTimes,
  options: ServerOptions,
): Promise<readonly AmqpLatency[]> {
  const engine = await startEngine({ kind: options.engine });
  try {
    const own = { engine: undefined, profileDirectory: undefined };
    const apart = { ...own, endpoint: engine.endpoint, stream };
    const [from, to] = [await startServerProcess(apart), await startServerProcess(apart)];
    try {
      return await measureLatencies({ what, from, to }, times);
    } finally {
      await Promise.all([from.stop(), to.stop()]);
    }
  } finally {
    await engine.stop();
  }
}
