import { cpus } from 'node:os';
import { startEngine } from '../../local/engine/engine.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/domain/units.ts';
import { type BodySet, intoCalls, standardBodies } from '../bodies.ts';
import { cycle, OPERATIONS, type Operation, startCounting } from '../counted-units.ts';
import { type Lock, type Prepared, prepareSend } from '../http-client.ts';
import { countQueue } from '../queue-units.ts';
import { countTopic, createTopic } from '../topic-units.ts';
import { type FunctionUnderTest, startFunction } from './function-client.ts';
import type {
  Measured,
  MeasuredIdle,
  MeasuredMessages,
  MeasuredReceive,
  MeasuredWait,
} from './measured.ts';
import { OBEDIENT_MS } from './model.ts';

const SIZES = ['200 B', '1 KB'];
const BATCHES = [1, 10, 100] as const;
const SUBSCRIPTIONS = 3;
/** Calls of each operation before and while processor time is measured, at a batch of one and of more. */
const CALLS = { warmUp: 300, single: 400, batch: 60 } as const;
const WAITS_MS = [0, 100, 1000, 2000, 5000, 10_000, 20_000] as const;
/** The pause between two receives of a client that polls, ms. */
const POLL_MS = 10_000;
/** How long calls that wait are repeated, ms, and how often at least. */
const WAITING_MS = 10_000;
const WAITS_MIN = 2;
const WAITS_MAX = 200;
const ENTITIES = [0, 100, 5000] as const;
/** Runs of the sweep that a walk over all entities takes at most. */
const RUNS_MAX = 60;

/** Measures all that the cost tables are computed from. Takes about three minutes. */
export async function measureCosts(kind: string | undefined): Promise<Measured> {
  const engine = await startEngine({ kind });
  try {
    const sets = standardBodies().filter(({ name }) => SIZES.includes(name));
    const counted = await countUnits(engine.endpoint, sets);
    const cpu = await measureProcessor(engine.endpoint, sets);
    const withCpu = (row: MeasuredMessages): MeasuredMessages => addProcessor(row, cpu);
    return {
      node: process.versions.node,
      engine: engine.name,
      processor: cpus()[0]?.model.trim() ?? 'unknown',
      messages: counted.messages.map(withCpu),
      topic: { ...withCpu(counted.topic), subscriptions: SUBSCRIPTIONS },
      waits: await measureWaits(engine.endpoint),
      poll: await measureReceives(engine.endpoint, 0, POLL_MS),
      idle: await measureIdle(engine.endpoint),
    };
  } finally {
    await engine.stop();
  }
}

async function countUnits(endpoint: string, sets: readonly BodySet[]) {
  console.log('Counting the units of messages');
  const counting = await startCounting(endpoint);
  const messages: MeasuredMessages[] = [];
  for (const set of sets) {
    for (const batch of BATCHES) {
      const operations = withoutProcessor(await countQueue(counting, set, batch));
      messages.push({ body: set.name, batch, operations });
    }
  }
  const [, set] = sets;
  if (set === undefined) throw new Error('Bodies of 1 KB are measured.');
  const topic = await createTopic(counting.http, SUBSCRIPTIONS, counting.subscribe);
  const { publish, receive, settle } = await countTopic(counting, topic, set, 1);
  await counting.stop();
  const operations = withoutProcessor({ send: publish, receive, settle });
  return { messages, topic: { body: set.name, batch: 1, operations } };
}

type Costs = Awaited<ReturnType<typeof countQueue>>;

function withoutProcessor(costs: Costs): MeasuredMessages['operations'] {
  const { send, receive, settle } = costs;
  return {
    send: { ...send, cpuMs: 0 },
    receive: { ...receive, cpuMs: 0 },
    settle: { ...settle, cpuMs: 0 },
  };
}

type Processor = ReadonlyMap<string, Readonly<Record<Operation, number>>>;

function addProcessor(row: MeasuredMessages, processor: Processor): MeasuredMessages {
  const cpuMs = processor.get(`${row.body} ${row.batch}`);
  if (cpuMs === undefined) return row;
  const { send, receive, settle } = row.operations;
  return {
    ...row,
    operations: {
      send: { ...send, cpuMs: cpuMs.send },
      receive: { ...receive, cpuMs: cpuMs.receive },
      settle: { ...settle, cpuMs: cpuMs.settle },
    },
  };
}

/** The processor time of one call of each operation in a function, ms. */
async function measureProcessor(endpoint: string, sets: readonly BodySet[]): Promise<Processor> {
  console.log('Measuring the processor time of functions');
  const under = await startFunction(endpoint);
  const processor = new Map<string, Record<Operation, number>>();
  for (const set of sets) {
    for (const batch of BATCHES) {
      const [call = []] = intoCalls(cycle(set.bodies, batch), batch);
      const prepared = prepareSend(call, batch > 1);
      const queue = `q${set.bodies[0]?.byteLength}-${batch}`;
      await under.http.createQueue(queue, undefined);
      const calls = batch === 1 ? CALLS.single : CALLS.batch;
      await runCalls(under, queue, batch, prepared, CALLS.warmUp / batch);
      processor.set(`${set.name} ${batch}`, await runCalls(under, queue, batch, prepared, calls));
    }
  }
  await under.close();
  return processor;
}

async function runCalls(
  under: FunctionUnderTest,
  queue: string,
  batch: number,
  prepared: Prepared,
  calls: number,
): Promise<Record<Operation, number>> {
  const cpuMs: Record<Operation, number> = { send: 0, receive: 0, settle: 0 };
  const { http } = under;
  for (let i = 0; i < calls; i++) {
    cpuMs.send += (await under.taken(() => http.send(queue, prepared))).cpuMs;
    let locks: readonly Lock[] = [];
    const receive = async () => {
      ({ locks } = await http.receive(queue, batch));
    };
    cpuMs.receive += (await under.taken(receive)).cpuMs;
    cpuMs.settle += (await under.taken(() => http.complete(queue, locks))).cpuMs;
  }
  for (const operation of OPERATIONS) cpuMs[operation] /= Math.max(1, calls);
  return cpuMs;
}

async function measureWaits(endpoint: string): Promise<readonly MeasuredWait[]> {
  const rows: MeasuredWait[] = [];
  for (const waitMs of WAITS_MS) {
    console.log(`Waiting ${waitMs} ms`);
    const looping = await measureReceives(endpoint, waitMs, 0);
    rows.push({ waitMs, looping, obedient: await measureReceives(endpoint, waitMs, OBEDIENT_MS) });
  }
  return rows;
}

/** Repeats receives from an empty queue, as an idle client does, with a pause between them. */
async function measureReceives(
  endpoint: string,
  waitMs: number,
  pauseMs: number,
): Promise<MeasuredReceive> {
  const under = await startFunction(endpoint, waitMs);
  await under.http.createQueue('q', undefined);
  const once = async () => {
    under.skip(pauseMs);
    await under.http.ask('POST', '/q/messages/head?timeout=60');
  };
  await once();
  const times = Math.min(WAITS_MAX, Math.max(WAITS_MIN, Math.round(WAITING_MS / (waitMs || 1))));
  const { units, cpuMs } = await under.taken(async () => {
    for (let i = 0; i < times; i++) await once();
  });
  await under.close();
  return { read: units.read / times, write: units.write / times, cpuMs: cpuMs / times };
}

/** Counts what the sweep costs in namespaces of idle queues. */
async function measureIdle(endpoint: string): Promise<readonly MeasuredIdle[]> {
  const rows: MeasuredIdle[] = [];
  for (const entities of ENTITIES) {
    console.log(`Sweeping ${entities} idle queues`);
    const under = await startFunction(endpoint);
    if (entities > 0) {
      await under.http.createQueue('q', undefined);
      const names = Array.from(
        { length: entities - 1 },
        (_, i) => `q${String(i).padStart(5, '0')}`,
      );
      await under.copyQueue('q', names);
    }
    await walk(under);
    under.skip(MINUTE_MS);
    const usual = await under.sweep();
    under.skip(HOUR_MS);
    const hourly = await walk(under);
    under.skip(DAY_MS);
    const daily = await walk(under);
    await under.close();
    rows.push({
      entities,
      usual: { read: usual.read, write: usual.write },
      hourly: difference(hourly, usual, 0),
      daily: difference(daily, usual, hourly.read - usual.read),
    });
  }
  return rows;
}

interface Run {
  readonly read: number;
  readonly write: number;
}

/** Sweeps each minute until a run costs as little as usual; returns the units of all runs, less those usual ones. */
async function walk(under: FunctionUnderTest): Promise<Run> {
  let read = 0;
  let write = 0;
  for (let runs = 0; runs < RUNS_MAX; runs++) {
    const units = await under.sweep();
    if (runs > 0 && units.read <= USUAL_READ_MAX && units.write <= USUAL_WRITE_MAX) break;
    const isFirst = runs === 0;
    read += units.read - (isFirst ? 0 : USUAL_READ_MAX);
    write += units.write - (isFirst ? 0 : USUAL_WRITE_MAX);
    under.skip(MINUTE_MS);
  }
  return { read, write };
}

/** What a run reads and writes at most that has nothing to do. */
const USUAL_READ_MAX = 1;
const USUAL_WRITE_MAX = 2;

function difference(run: Run, usual: Run, further: number): Run {
  return {
    read: Math.max(0, run.read - usual.read - further),
    write: Math.max(0, run.write - usual.write),
  };
}
