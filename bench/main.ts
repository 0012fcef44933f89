import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startEngine } from '../local/engine.ts';
import { StartupError } from '../local/startup-error.ts';
import { type BodySet, corpusBodies, standardBodies } from './bodies.ts';
import { startCounting } from './counted-units.ts';
import { printReport, printRow, type Row } from './report.ts';
import { type ServerOptions, startServerProcess } from './throughput.ts';

/** `npm run bench`: what messages cost and how fast they go, printed and kept in RESULTS.md. */

const USAGE = `Usage: npm run bench -- [options]

Prints units, requests, round trips, dollars and messages a second for each operation,
batch size and kind of body, and writes them to bench/RESULTS.md.

  --quick         small bodies and short measurements only; RESULTS.md is left as it is
  --corpus FILE   measures real bodies as well, one JSON document a line
  --engine NAME   dynamodb-local or dynoxide; without it the first that can run here
  --cpu-prof DIR  leaves a processor profile of the server there
`;

const RESULTS = fileURLToPath(new URL('RESULTS.md', import.meta.url));
const BATCHES = [1, 10, 100] as const;
const QUICK_SETS = 2;
/** Server and engine compile as they go; after this long they are about as fast as they get. */
const TIMES_MS = {
  full: { warmUp: 8000, measured: 2500 },
  quick: { warmUp: 2000, measured: 1000 },
} as const;

process.exit(await main());

/** Returns the exit code. */
async function main(): Promise<number> {
  try {
    await run(parseOptions());
    return 0;
  } catch (error) {
    const isUsage = error instanceof Error && 'code' in error && isArgumentFault(error.code);
    if (isUsage) console.error(`${error.message}\n\n${USAGE}`);
    else console.error(error instanceof StartupError ? error.message : error);
    return isUsage ? 2 : 1;
  }
}

function isArgumentFault(code: unknown): boolean {
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS');
}

function parseOptions() {
  return parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      corpus: { type: 'string' },
      engine: { type: 'string' },
      'cpu-prof': { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  }).values;
}

async function run(options: ReturnType<typeof parseOptions>): Promise<void> {
  if (options.help) {
    process.stdout.write(USAGE);
    return;
  }
  const { quick, engine, corpus } = options;
  const [load = 0] = loadavg();
  const standard = standardBodies();
  const sets = [
    ...(quick ? standard.slice(0, QUICK_SETS) : standard),
    ...(corpus === undefined ? [] : [corpusBodies(corpus)]),
  ];
  const counted = await countAll(sets, engine);
  const times = quick ? TIMES_MS.quick : TIMES_MS.full;
  const rows = await measureAll(counted.rows, times, {
    engine,
    profileDirectory: options['cpu-prof'],
  });
  const report = printReport({
    engine: counted.engineName,
    load,
    options: process.argv.slice(2).map(withoutDirectory),
    rows,
  });
  if (quick) return;
  writeFileSync(RESULTS, report);
  console.log(`\nWritten to ${RESULTS}`);
}

/** The report is for other machines, too. */
function withoutDirectory(argument: string): string {
  return argument.replace(/^(--[\w-]+=)?.*\//, '$1');
}

interface CountedRow extends Omit<Row, 'rates'> {
  readonly set: BodySet;
}

/** Counts units in this process, alone with an engine of its own. */
async function countAll(sets: readonly BodySet[], kind: string | undefined) {
  const engine = await startEngine({ kind });
  console.log(`Engine: ${engine.name}\nCounting units`);
  try {
    const counting = await startCounting(engine.endpoint);
    const rows: CountedRow[] = [];
    for (const set of sets) {
      for (const batch of BATCHES) {
        rows.push({ set, body: set.name, batch, costs: await counting.count(set, batch) });
      }
    }
    await counting.stop();
    return { rows, engineName: engine.name };
  } finally {
    await engine.stop();
  }
}

/** Measures rates on a server in a process of its own, and prints each row as it is complete. */
async function measureAll(
  counted: readonly CountedRow[],
  times: (typeof TIMES_MS)[keyof typeof TIMES_MS],
  options: ServerOptions,
): Promise<readonly Row[]> {
  const server = await startServerProcess(options);
  try {
    console.log('Warming up');
    const [small] = standardBodies();
    if (small !== undefined) {
      for (const batch of BATCHES)
        await server.measure(small, batch, times.warmUp / BATCHES.length);
    }
    const rows: Row[] = [];
    for (const { set, ...row } of counted) {
      const rates = await server.measure(set, row.batch, times.measured);
      rows.push({ ...row, rates });
      console.log(`\n${printRow({ ...row, rates })}`);
    }
    return rows;
  } finally {
    await server.stop();
  }
}
