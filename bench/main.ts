import { loadavg } from 'node:os';
import { startEngine } from '../local/engine/engine.ts';
import { StartupError } from '../local/startup-error.ts';
import { printAmqp, printIdle } from './amqp/report.ts';
import { benchIdle, measureAmqp } from './amqp/section.ts';
import { type BodySet, corpusBodies, standardBodies, tierFor, topicBodies } from './bodies.ts';
import { measureCompeting } from './competing/competing.ts';
import { printCompeting } from './competing/report.ts';
import { benchCosts } from './costs/section.ts';
import { type CountingNamespace, startCounting } from './counted-units.ts';
import { countFeatures, type FeatureRow, printFeatures } from './feature-units.ts';
import { measureFilters } from './filter-speed.ts';
import { benchUnderAttack } from './hostile/section.ts';
import { type BenchOptions, isArgumentFault, parseOptions, USAGE } from './options.ts';
import { measurePartitions, type PartitionRow } from './partitions/measure.ts';
import { printPartitions } from './partitions/report.ts';
import { benchPeers } from './peers/section.ts';
import { countQueue } from './queue-units.ts';
import { printReport, printRow, type Row } from './report.ts';
import { keepResults, replaceSection } from './results-file.ts';
import { competingOptions, sectionOf } from './section-of.ts';
import { type ServerOptions, type ServerProcess, startServerProcess } from './server-process.ts';
import { writeScale } from './simulate/main.ts';
import { SINGLES_PLANS } from './singles/plan.ts';
import { printSingles } from './singles/report.ts';
import { benchSingles } from './singles/section.ts';
import { measureSingles } from './singles/singles.ts';
import { measureRates } from './throughput.ts';
import { printFilters, printTopicRow, type TopicRow } from './topic-report.ts';
import { createServerTopic, measureTopic } from './topic-throughput.ts';
import {
  type BenchTopic,
  countTopic,
  createTopic,
  TOPIC_BATCHES,
  TOPIC_SIZES,
} from './topic-units.ts';

/** `npm run bench`: what messages and filters cost and how fast they go, printed and kept in RESULTS.md. */

const BATCHES = [1, 10, 100] as const;
const QUICK_SETS = 2;
const QUICK_TOPICS = 3;
/** Server and engine compile as they go; after this long they are about as fast as they get. */
const TIMES_MS = {
  full: { warmUp: 8000, measured: 2500, topics: 1500, filters: 1000 },
  quick: { warmUp: 2000, measured: 1000, topics: 500, filters: 300 },
} as const;

process.exit(await main());

/** Returns the exit code. */
async function main(): Promise<number> {
  try {
    const options = parseOptions();
    if (options.hostile) return (await benchUnderAttack(options)) ? 0 : 1;
    await run(options);
    return 0;
  } catch (error) {
    const isUsage = error instanceof Error && 'code' in error && isArgumentFault(error.code);
    if (isUsage) console.error(`${error.message}\n\n${USAGE}`);
    else console.error(error instanceof StartupError ? error.message : error);
    return isUsage ? 2 : 1;
  }
}

async function run(options: BenchOptions): Promise<void> {
  if (options.help) {
    process.stdout.write(USAGE);
    return;
  }
  const { quick, engine, corpus } = options;
  const times = quick ? TIMES_MS.quick : TIMES_MS.full;
  const server = { engine, profileDirectory: options['cpu-prof'] };
  const alone = aloneOf(options, times, server);
  if (alone !== undefined) {
    await alone();
    return;
  }
  const [load = 0] = loadavg();
  const standard = standardBodies();
  const sets = [
    ...(quick ? standard.slice(0, QUICK_SETS) : standard),
    ...(corpus === undefined ? [] : [corpusBodies(corpus)]),
  ];
  const sizes = quick ? TOPIC_SIZES.slice(0, QUICK_TOPICS) : TOPIC_SIZES;
  const filters = measureFilters(times.filters);
  console.log(printFilters(filters));
  const { engineName, ...counted } = await countAll(sets, sizes, engine);
  const measured = await measureAll(counted, times, server);
  const amqp = await measureAmqp(times, server, quick);
  console.log(printAmqp(amqp));
  const competing = await measureCompeting(competingOptions(options));
  console.log(printCompeting(competing));
  const singles = await measureSingles(SINGLES_PLANS[quick ? 'quick' : 'full'], server);
  console.log(printSingles(singles));
  const report = printReport({
    engine: engineName,
    load,
    options: process.argv.slice(2).map(withoutDirectory),
    ...measured,
    scale: counted.scale,
    features: counted.features,
    filters,
    amqp,
    competing,
    singles,
  });
  if (!quick) keepResults(report);
}

/** The part of the benchmark that an option asks for, if one asks for a part. */
function aloneOf(
  options: BenchOptions,
  times: Times,
  server: ServerOptions,
): (() => Promise<void>) | undefined {
  const { quick, engine } = options;
  if (options.simulate) return () => writeScale(quick);
  if (options.partitions) return () => countPartitions(engine);
  if (options.costs) return () => benchCosts(quick, engine);
  if (options.idle) return async () => console.log(printIdle(await benchIdle(quick, engine)));
  if (options.singles) return () => benchSingles(quick, server);
  if (options.peers) return () => benchPeers(quick, options.peerPackages, server);
  const section = sectionOf(options, times, server);
  if (section === undefined) return undefined;
  const [title, measure] = section;
  return async () => {
    const text = await measure();
    console.log(text);
    if (!quick) replaceSection(title, text);
  };
}

async function countPartitions(kind: string | undefined): Promise<void> {
  const engine = await startEngine({ kind });
  try {
    console.log(printPartitions(await measurePartitions(engine.endpoint)));
  } finally {
    await engine.stop();
  }
}

/** The report is for other machines, too. */
function withoutDirectory(argument: string): string {
  return argument.replace(/^(--[\w-]+=)?.*\//, '$1');
}

interface CountedRow extends Omit<Row, 'rates'> {
  readonly set: BodySet;
}

interface CountedTopicRow extends Omit<TopicRow, 'rate' | 'batch'> {
  readonly set: BodySet;
  readonly batch: (typeof TOPIC_BATCHES)[number];
}

interface Counted {
  readonly rows: readonly CountedRow[];
  readonly topics: readonly CountedTopicRow[];
  readonly scale: readonly PartitionRow[];
  readonly features: readonly FeatureRow[];
}

/** Counts units in this process, alone with an engine of its own. */
async function countAll(
  sets: readonly BodySet[],
  sizes: readonly number[],
  kind: string | undefined,
): Promise<Counted & { readonly engineName: string }> {
  const engine = await startEngine({ kind });
  console.log(`Engine: ${engine.name}\nCounting units`);
  try {
    const counting = await startCounting(engine.endpoint, { tier: tierFor(sets) });
    const rows: CountedRow[] = [];
    for (const set of sets) {
      for (const batch of BATCHES) {
        rows.push({ set, body: set.name, batch, costs: await countQueue(counting, set, batch) });
      }
    }
    const topics: CountedTopicRow[] = [];
    for (const size of sizes) topics.push(...(await countTopics(counting, size)));
    const features = await countFeatures(counting);
    console.log(printFeatures(features));
    await counting.stop();
    console.log('Counting units by item collection');
    const scale = await measurePartitions(engine.endpoint);
    return { rows, topics, scale, features, engineName: engine.name };
  } finally {
    await engine.stop();
  }
}

async function countTopics(counting: CountingNamespace, subscriptions: number) {
  console.log(`Counting units of a topic with ${subscriptions} subscriptions`);
  counting.setAddedLatency('none');
  const topic = await createTopic(counting.http, subscriptions, counting.subscribe);
  const rows: CountedTopicRow[] = [];
  for (const set of topicBodies()) {
    for (const batch of TOPIC_BATCHES) {
      const costs = await countTopic(counting, topic, set, batch);
      rows.push({ set, subscriptions, body: set.name, batch, costs });
    }
  }
  return rows;
}

type Times = (typeof TIMES_MS)[keyof typeof TIMES_MS];

/** Measures rates on a server in a process of its own, and prints each row as it is complete. */
async function measureAll(
  counted: Counted,
  times: Times,
  options: ServerOptions,
): Promise<{ readonly rows: readonly Row[]; readonly topics: readonly TopicRow[] }> {
  const tier = tierFor(counted.rows.map(({ set }) => set));
  const server = await startServerProcess({ ...options, tier });
  try {
    console.log('Warming up');
    const [small] = standardBodies();
    if (small !== undefined) {
      for (const batch of BATCHES)
        await measureRates(server, small, batch, times.warmUp / BATCHES.length);
    }
    const rows: Row[] = [];
    for (const { set, ...row } of counted.rows) {
      const rates = await measureRates(server, set, row.batch, times.measured);
      rows.push({ ...row, rates });
      console.log(`\n${printRow({ ...row, rates })}`);
    }
    return { rows, topics: await measureTopics(server, counted.topics, times) };
  } finally {
    await server.stop();
  }
}

async function measureTopics(
  server: ServerProcess,
  counted: readonly CountedTopicRow[],
  { topics: ms }: Times,
): Promise<readonly TopicRow[]> {
  const rows: TopicRow[] = [];
  let topic: BenchTopic | undefined;
  for (const { set, ...row } of counted) {
    if (topic?.subscriptions.length !== row.subscriptions) {
      topic = await createServerTopic(server, row.subscriptions);
    }
    const rate = await measureTopic(server, topic, { set, batch: row.batch, ms });
    rows.push({ ...row, rate });
    console.log(`\n${printTopicRow({ ...row, rate })}`);
  }
  return rows;
}
