import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../../cdk/constructs/bundle.ts';
import type { FunctionName } from '../../../cdk/functions.ts';
import type { FunctionHandler } from './lambda-service.ts';
import type { StageTime } from './stage-time.ts';

/** The environment variables of a deployed function. */
export type FunctionEnvironment = Readonly<Record<string, string>>;

const folder = mkdtempSync(join(tmpdir(), 'dynabus-push-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** The bundle of a function as it is deployed, made once a process. */
export function bundledFunction(name: string): string {
  const file = join(folder, name, 'index.js');
  if (!existsSync(file)) bundle(name as FunctionName, join(folder, name));
  return file;
}

/** Runs a bundle, with these variables in place of the globals. */
type Load = (
  module: { exports: { handler?: FunctionHandler } },
  require: NodeJS.Require,
  process: NodeJS.Process,
  globals: StageTime['globals'],
) => void;

/**
 * A function from its bundle, in this process, with an environment and a time of its own. As in Lambda,
 * an instance of it serves one invocation at a time, and is used again.
 */
export function loadedFunction(
  name: string,
  environment: FunctionEnvironment,
  time: StageTime,
): FunctionHandler {
  const load = loaderOf(bundledFunction(name));
  const own: NodeJS.Process = Object.create(process, { env: { value: { ...environment } } });
  const free: FunctionHandler[] = [];
  return async (event, context) => {
    const handler = free.pop() ?? handlerOf(load, own, time);
    try {
      return await handler(event, context);
    } finally {
      free.push(handler);
    }
  };
}

/** What runs a bundle again and again, with the variables that are handed in. */
function loaderOf(file: string): Load {
  const wrapped = file.replace('index.js', 'wrapped.js');
  const names = 'Date, performance, setTimeout, setInterval, clearTimeout, clearInterval';
  const head = `module.exports = (module, require, process, { ${names} }) => { const { exports } = module;`;
  writeFileSync(wrapped, `${head}${readFileSync(file, 'utf8')}\n};`);
  return createRequire(file)(wrapped) as Load;
}

function handlerOf(load: Load, own: NodeJS.Process, time: StageTime): FunctionHandler {
  const module: Parameters<Load>[0] = { exports: {} };
  load(module, createRequire(join(folder, 'index.js')), own, time.globals);
  const { handler } = module.exports;
  if (handler === undefined) throw new Error('The bundle exports no handler.');
  return handler;
}

/** A function whose invocations are processes, which a test may end. */
export interface FunctionProcesses {
  readonly handler: FunctionHandler;
  /** Ends the processes that run, without a word. */
  readonly kill: () => void;
}

const SCRIPT = `
  const [file, event, context] = process.argv.slice(1);
  const endsAt = performance.now() + 900_000;
  const getRemainingTimeInMillis = () => endsAt - performance.now();
  require(file)
    .handler(JSON.parse(event), { ...JSON.parse(context), getRemainingTimeInMillis })
    .then(() => process.exit(0), () => process.exit(1));`;

/** A function from its bundle, each of whose invocations is a process of its own. */
export function functionProcesses(
  name: string,
  environment: FunctionEnvironment,
): FunctionProcesses {
  const file = bundledFunction(name);
  const running = new Set<ChildProcess>();
  const handler: FunctionHandler = async (event, context) => {
    const given = [file, JSON.stringify(event), JSON.stringify(context)];
    const child = spawn(process.execPath, ['--eval', SCRIPT, '--', ...given], {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    running.add(child);
    const [code] = (await once(child, 'exit')) as [number | null];
    running.delete(child);
    if (code !== 0) throw new Error(`The process ended with ${code ?? 'a signal'}.`);
  };
  const kill = () => {
    for (const child of running) child.kill('SIGKILL');
  };
  return { handler, kill };
}
