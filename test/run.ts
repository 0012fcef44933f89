import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEngine } from '../local/engine/engine.ts';
import { StartupError } from '../local/startup-error.ts';
import { bundleTests } from './bundle.ts';

/**
 * `npm test`: all tests over one engine, in one invocation of the test runner, so that one tally
 * ends the output. Arguments keep the files whose path holds any of them: `npm test -- spec/peek`.
 * `npm run search`: those that search at random, and for much longer.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MINUTE = 60_000;
/** For a file of tests as well as for one test. Nothing that is well takes as long. */
const TEST_MINUTES_MAX = { usual: 5, search: 240 };
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

const args = process.argv.slice(2);
const filters = args.filter((arg) => arg !== '--search');
const isSearch = filters.length < args.length;
if (isSearch) process.env = { ...SEARCH.env, ...process.env };
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
  try {
    const [engine, bundles] = await Promise.all([startEngine(), bundleTests(ROOT, files)]);
    const seconds = (performance.now() / 1000).toFixed(1);
    console.log(`${files.length} test files; engine ready after ${seconds} s: ${engine.name}`);
    try {
      return await runTests(bundles, engine.endpoint);
    } finally {
      await engine.stop();
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

async function runTests(files: readonly string[], endpoint: string): Promise<number> {
  const runner = spawn(
    process.execPath,
    [
      '--test',
      // Both are the defaults of some version of Node. Where a program reads, the tally must be last,
      // and `spec` puts the failures after it.
      `--test-reporter=${process.stdout.isTTY ? 'spec' : 'tap'}`,
      // Many tests wait: for the engine, for a lock to run out. Half as many again keep all cores busy.
      `--test-concurrency=${Math.ceil(1.5 * Math.max(2, availableParallelism()))}`,
      `--test-timeout=${TEST_MINUTES_MAX[isSearch ? 'search' : 'usual'] * MINUTE}`,
      ...files,
    ],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, DYNAMODB_ENDPOINT: endpoint } },
  );
  // Ctrl-C reaches the runner by itself; we live on to stop the engine once it has ended.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => runner.kill('SIGTERM'));
  const [exitCode]: [number | null] = (await once(runner, 'exit')) as [number | null];
  return exitCode ?? 1;
}
