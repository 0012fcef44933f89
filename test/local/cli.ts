import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY_MS_MAX = 60_000;
const POLL_MS = 25;

/** The command line under test, as a process. */
export interface Cli {
  readonly child: ChildProcess;
  /** All that it printed so far. */
  output(): string;
  errors(): string;
  /** Waits until the output holds the text; fails with everything printed if it ends before. */
  untilPrinted(text: string): Promise<void>;
  /** The same for what it says on the error output. */
  untilReported(text: string): Promise<void>;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
}

export interface CliOptions {
  readonly args?: readonly string[];
  /** On top of ours; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Makes it the leader of a process group, as a terminal does. */
  readonly ownGroup?: boolean;
}

/** Runs `local/main.ts`. It starts an engine of its own, whatever engine the test run uses. */
export function startCli(t: TestContext, options: CliOptions = {}): Cli {
  const { args = [], env = {}, ownGroup = false } = options;
  const child = spawn(process.execPath, ['--import', 'tsx', 'local/main.ts', ...args], {
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

/** Starts a namespace on a free port. Resolves, once it is ready, with its URL as well. */
export async function startNamespaceCli(
  t: TestContext,
  options: CliOptions = {},
): Promise<Cli & { readonly url: string }> {
  const cli = startCli(t, { ...options, args: ['--port', '0', ...(options.args ?? [])] });
  await cli.untilPrinted('/messages/head');
  const url = /Endpoint +(\S+)/.exec(cli.output())?.[1];
  assert.ok(url, cli.output());
  return { ...cli, url };
}

/** The lines for curl that a namespace prints, in their order. */
export function curlLines(output: string): readonly string[] {
  return output.split('\n').filter((line) => line.startsWith('curl '));
}

/** A description of a queue, with all defaults. */
export const QUEUE_ENTRY =
  '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';

/** A token of the root rule, out of what a namespace prints. */
export function tokenIn(output: string): string {
  const token = /SharedAccessSignature [^']+/.exec(output)?.[0];
  assert.ok(token, output);
  return token;
}

/** Runs a line as a user's shell does. Returns what it prints, the status code last. */
export function paste(line: string): string {
  return execFileSync('sh', ['-c', `${line} -w '\\n%{http_code}'`], { encoding: 'utf8' });
}

/** The processes below one: for a server, the guard and its engine. */
export function descendants(pid: number | undefined): readonly number[] {
  const running = processes();
  const below = (above: number | undefined): number[] =>
    running.filter(({ parent }) => parent === above).flatMap(({ pid }) => [pid, ...below(pid)]);
  return below(pid);
}

/** Whether a process runs. */
export function isRunning(pid: number | undefined): boolean {
  return processes().some((one) => one.pid === pid && !one.state.startsWith('Z'));
}

/** Waits until none of the processes runs any more. */
export function untilGone(pids: readonly number[]): Promise<void> {
  return until(`processes ${pids.join(', ')} are gone`, () => {
    const running = processes().filter(({ state }) => !state.startsWith('Z'));
    return !running.some(({ pid }) => pids.includes(pid));
  });
}

/** A directory that is removed after the test. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'dynabus-test-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Waits until a condition holds. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = Date.now() + READY_MS_MAX;
  while (!holds()) {
    assert.ok(Date.now() < deadline, `Waited in vain until ${what}.`);
    await delay(POLL_MS);
  }
}

/** What runs on this machine, but for the `ps` that tells. */
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

/** A port that no process has. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  server.close();
  await once(server, 'close');
  return address.port;
}
