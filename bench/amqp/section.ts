import { loadavg } from 'node:os';
import { startEngine } from '../../local/engine/engine.ts';
import { type BodySet, standardBodies } from '../bodies.ts';
import { startCounting } from '../counted-units.ts';
import { type ServerOptions, startServerProcess } from '../server-process.ts';
import { measureRates } from '../throughput.ts';
import { type AmqpIdle, measureIdle } from './idle.ts';
import { type AmqpLatency, measureLatency, type Passage } from './latency.ts';
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

interface Times {
  readonly warmUp: number;
  readonly measured: number;
}

const SETS = 2;
const RATES = [10, 1000] as const;
/** Factors of the measured time: a low rate needs longer for its percentiles. */
const LATENCY_TIMES = { 10: 12, 1000: 4 } as const;
const IDLE_SETTLE = 12;

/** Counts and measures everything of this section. */
export async function measureAmqp(times: Times, options: ServerOptions): Promise<AmqpSection> {
  const [load = 0] = loadavg();
  const sets = standardBodies().slice(0, SETS);
  const { units, idle } = await countAll(sets, times, options.engine);
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
  { measured }: Times,
  kind: string | undefined,
): Promise<Pick<AmqpSection, 'units' | 'idle'>> {
  const engine = await startEngine({ kind });
  try {
    console.log('Counting units over AMQP');
    const counting = await startCounting(engine.endpoint, { time: 'real' });
    const units: AmqpUnits[] = [];
    for (const set of sets) units.push(...(await countAmqp(counting, set)));
    const settleMs = IDLE_SETTLE * measured;
    const idle = await measureIdle(counting, { settleMs, ms: settleMs });
    await counting.stop();
    return { units, idle };
  } finally {
    await engine.stop();
  }
}

async function measureLatencies(
  passage: Passage,
  { measured }: Times,
): Promise<readonly AmqpLatency[]> {
  const rows: AmqpLatency[] = [];
  for (const rate of RATES) {
    rows.push(await measureLatency(passage, rate, measured * LATENCY_TIMES[rate]));
  }
  return rows;
}

/** Starts two servers over one engine. A send to one does not wake a receiver of the other. */
async function measureApart(times: Times, options: ServerOptions): Promise<readonly AmqpLatency[]> {
  const engine = await startEngine({ kind: options.engine });
  try {
    const apart = { engine: undefined, profileDirectory: undefined, endpoint: engine.endpoint };
    const [from, to] = [await startServerProcess(apart), await startServerProcess(apart)];
    try {
      return await measureLatencies({ what: 'from one server to another', from, to }, times);
    } finally {
      await Promise.all([from.stop(), to.stop()]);
    }
  } finally {
    await engine.stop();
  }
}
