import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { commandLine } from '../runner/built-server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY_MS_MAX = 60_000;
const POLL_MS = 25;
/** To list processes takes as long as a start of one. */
const PROCESS_POLL_MS = 100;

/** The command line under test, as a process. */
export interface Cli {
  readonly child: ChildProcess;
  /** Everything that it has printed so far. */
  output(): string;
  errors(): string;
  /** Waits until the output holds a text. Fails with the whole output if the process ends before. */
  untilPrinted(text: string): Promise<void>;
  /** The same for the error output. */
  untilReported(text: string): Promise<void>;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
}

/** What ends a process: a test, or a whole file. */
interface Place {
  after(end: () => Promise<void>): void;
}

export interface CliOptions {
  /** Default: `start`. */
  readonly command?: string;
  readonly args?: readonly string[];
  /** Variables on top of this process's; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether it leads a process group, as in a terminal. */
  readonly ownGroup?: boolean;
}

/**
 * Runs `dynabus start`, or another command. A server starts its own engine, independent of the engine of the test run.
 */
export function startCli(t: Place, options: CliOptions = {}): Cli {
  const { command = 'start', args = [], env = {}, ownGroup = false } = options;
  const child = spawn(process.execPath, [...commandLine(), command, ...args], {
    cwd: ROOT,
    detached: ownGroup,
    env: {
      ...process.env,
      DYNAMODB_ENDPOINT: undefined,
      DYNABUS_KEY: undefined,
      NODE_TEST_CONTEXT: undefined,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = textOf(child.stdout);
  const errors = textOf(child.stderr);
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const untilHas = (stream: () => string, text: string) =>
    until(`'${text}' is printed`, () => {
      const running = child.exitCode === null && child.signalCode === null;
      assert.ok(running || stream().includes(text), `${output()}${errors()}`);
      return stream().includes(text);
    });
  return {
    child,
    output,
    errors,
    ended,
    untilPrinted: (text) => untilHas(output, text),
    untilReported: (text) => untilHas(errors, text),
  };
}

/** Starts a namespace on a free port. Resolves when it is ready; the result also holds its URL. */
export async function startNamespaceCli(
  t: Place,
  options: CliOptions = {},
): Promise<Cli & { readonly url: string }> {
  const cli = startCli(t, { ...options, args: ['--port', '0', ...(options.args ?? [])] });
  await cli.untilPrinted('/messages/head');
  const url = /Endpoint +(\S+)/.exec(cli.output())?.[1];
  assert.ok(url, cli.output());
  return { ...cli, url };
}

/** One namespace for all tests of a file that do not disturb each other; it starts with the first call. */
export function sharedNamespaceCli(
  options: CliOptions,
): () => Promise<Cli & { readonly url: string }> {
  const endings: (() => Promise<void>)[] = [];
  after(async () => {
    for (const end of endings) await end();
  });
  let started: ReturnType<typeof startNamespaceCli> | undefined;
  return () => {
    started ??= startNamespaceCli({ after: (end) => endings.push(end) }, options);
    return started;
  };
}

/** The curl command lines that a namespace prints, in their order. */
export function curlLines(output: string): readonly string[] {
  return output.split('\n').filter((line) => line.startsWith('curl '));
}

/** The Atom entry of a queue with all defaults. */
export const QUEUE_ENTRY =
  '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';

/** Finds a token of the root rule in the output of a namespace. */
export function tokenIn(output: string): string {
  const token = /SharedAccessSignature [^']+/.exec(output)?.[0];
  assert.ok(token, output);
  return token;
}

/** Runs a command line in a shell, as a user does. Returns its output, with the HTTP status code at the end. */
export function paste(line: string): string {
  return execFileSync('sh', ['-c', `${line} -w '\\n%{http_code}'`], { encoding: 'utf8' });
}

/** The descendants of a process: for a server, the supervisor and the engine. */
export function descendants(pid: number | undefined): readonly number[] {
  const running = processes();
  const below = (above: number | undefined): number[] =>
    running.filter(({ parent }) => parent === above).flatMap(({ pid }) => [pid, ...below(pid)]);
  return below(pid);
}

/** Whether a process runs; a zombie does not. */
export function isRunning(pid: number | undefined): boolean {
  return processes().some((one) => one.pid === pid && !one.state.startsWith('Z'));
}

/** Waits until all of the processes have ended. */
export function untilEnded(pids: readonly number[]): Promise<void> {
  return until(
    `processes ${pids.join(', ')} have ended`,
    () => {
      const running = processes().filter(({ state }) => !state.startsWith('Z'));
      return !running.some(({ pid }) => pids.includes(pid));
    },
    PROCESS_POLL_MS,
  );
}

/** Creates a directory, and removes it after the test. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'dynabus-test-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Waits until a condition holds; fails after a minute, with `what` in the message. */
export async function until(what: string, holds: () => boolean, pollMs = POLL_MS): Promise<void> {
  const deadline = Date.now() + READY_MS_MAX;
  while (!holds()) {
    assert.ok(Date.now() < deadline, `Timed out while waiting until ${what}.`);
    await delay(pollMs);
  }
}

/** All processes of this machine, without the `ps` that lists them. */
function processes() {
  const table = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,comm='], { encoding: 'utf8' });
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [pid, parent, state = '', command] = line.trim().split(/\s+/);
      return { pid: Number(pid), parent: Number(parent), state, command };
    })
    .filter(({ command }) => command !== 'ps');
}

function textOf(stream: ChildProcess['stdout']): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

/** Finds a port of an address that is free. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  server.close();
  await once(server, 'close');
  return address.port;
}
