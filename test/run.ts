import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { StartupError } from '../local/startup-error.ts';
import { type Bundles, bundleTests, createOutput } from './bundle.ts';
import { SERVER_VARIABLE } from './runner/built-server.ts';
import { groupsOf } from './runner/groups.ts';
import { isMore, MORE_VARIABLE } from './runner/more.ts';
import { type StartedEngines, startTestEngines } from './runner/start-engines.ts';

/**
 * `npm test`: all tests, in one invocation of the test runner, so that one tally ends the output.
 * Arguments keep the files whose path holds any of them: `npm test -- spec/queues/peek`.
 * `npm run test:more`: all tests again, each over the other engine, with the other version of the
 * official clients, and at the real limits where `npm test` uses small ones.
 * `npm run search`: the tests that search at random, and for much longer.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MINUTE = 60_000;
/**
 * The first JIT compiler only: this halves the processor time of engines that tests start for a moment, and makes no
 * difference for the engine of all tests.
 */
const JAVA_OPTIONS = { JDK_JAVA_OPTIONS: '-XX:TieredStopAtLevel=1' };
/** For all files that share a process, on a busy machine. */
const PROCESS_MINUTES_MAX = { usual: 25, search: 240 };
/** How far a search goes, unless the environment says otherwise. */
const SEARCH = {
  files: [
    ...[
      'test/model',
      'test/simulation/',
      'spec/management/atom-fuzz',
      'interop/amqp/amqp-fuzz',
      'interop/restart',
    ],
    'hostile/search',
  ],
  env: {
    DYNABUS_MODEL_RUNS: '10000',
    DYNABUS_FAULT_RUNS: '2000',
    DYNABUS_TOPIC_RUNS: '1000',
    DYNABUS_SESSION_RUNS: '1000',
    DYNABUS_SESSION_FAULT_RUNS: '300',
    DYNABUS_RACE_MESSAGES: '20000',
    DYNABUS_DUPLICATE_MESSAGES: '20000',
    DYNABUS_MONEY_ROUNDS: '4000',
    DYNABUS_SIMULATION_SECONDS: '10800',
    DYNABUS_LARGE_WORLDS: '1',
    DYNABUS_WORLD_SECONDS: '3600',
    FUZZ_RUNS: '20000',
    DYNABUS_FUZZ_CONNECTIONS: '20000',
    DYNABUS_RESTART_CLIENTS: '200',
    DYNABUS_HOSTILE_MINUTES: '30',
  },
};

/** The exit code of a process that a signal ends is the signal's number and this. */
const SIGNALLED = 128;

let runner: ChildProcess | undefined;
process.env = { ...JAVA_OPTIONS, ...process.env };
const args = process.argv.slice(2);
const filters = args.filter((arg) => !['--search', '--more'].includes(arg));
const isSearch = args.includes('--search');
if (isSearch) process.env = { ...SEARCH.env, ...process.env };
if (args.includes('--more')) process.env[MORE_VARIABLE] = '1';
process.exit(await main(isSearch && filters.length === 0 ? SEARCH.files : filters));

/** Returns the exit code. */
async function main(filters: readonly string[]): Promise<number> {
  const files = testFiles().filter(
    (file) => filters.length === 0 || filters.some((filter) => file.includes(filter)),
  );
  if (files.length === 0) {
    console.error(`No test file has ${filters.join(' or ')} in its path.`);
    return 1;
  }
  const output = createOutput(ROOT);
  process.on('exit', () => rmSync(output, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, endOn);
  const roles = new Set(groupsOf(files).map(({ engine }) => engine));
  try {
    const [engines, bundles] = await Promise.all([
      startTestEngines(roles, isMore()),
      bundleTests(ROOT, files, output),
    ]);
    const seconds = (performance.now() / 1000).toFixed(1);
    console.log(`${files.length} test files; engines ready after ${seconds} s: ${engines.names}`);
    try {
      return await runTests(bundles, engines);
    } finally {
      await engines.stop();
    }
  } catch (error) {
    console.error(error instanceof StartupError ? error.message : error);
    return 1;
  }
}

/** Paths from the root of the repository, in a fixed order. */
function testFiles(): readonly string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join('test', path))
    .sort();
}

/** Ends the runner; this process lives on to stop the engines once it has ended. */
function endOn(signal: 'SIGINT' | 'SIGTERM'): void {
  if (runner === undefined) process.exit(SIGNALLED + constants.signals[signal]);
  // Ctrl-C reaches the runner by itself.
  if (signal === 'SIGTERM') runner.kill(signal);
}

async function runTests(bundles: Bundles, { variables }: StartedEngines): Promise<number> {
  runner = spawn(
    process.execPath,
    [
      // The options before `--test` are those of each process of tests too.
      '--enable-source-maps',
      `--import=${pathToFileURL(bundles.processStart).href}`,
      '--test',
      `--test-reporter=${pathToFileURL(bundles.reporter).href}`,
      '--test-reporter-destination=stdout',
      // About half of the processes wait, for a child process or the engine.
      `--test-concurrency=${2 * Math.max(2, availableParallelism())}`,
      `--test-timeout=${PROCESS_MINUTES_MAX[isSearch ? 'search' : 'usual'] * MINUTE}`,
      ...bundles.tests,
    ],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, ...variables, [SERVER_VARIABLE]: bundles.server },
    },
  );
  const [exitCode]: [number | null] = (await once(runner, 'exit')) as [number | null];
  return exitCode ?? 1;
}
