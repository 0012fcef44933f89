import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const GUARD = fileURLToPath(new URL('./engine-supervisor.mjs', import.meta.url));
/** What is kept of an engine's output, to explain its end. */
const OUTPUT_CHARACTERS_MAX = 4000;
const REASON_LINES_MAX = 3;

/** A process that ends when we do, whatever ends us. */
export interface GuardedProcess {
  /** Resolves once it has ended, with the last it said. */
  readonly ended: Promise<string>;
  /** The last line in which it told of an error, or nothing. */
  lastError(): string;
  /** Ends it in order, or by force after a few seconds. Resolves once it is gone. */
  stop(): Promise<void>;
}

/** The files that the guard of a process takes care of. */
export interface GuardedFiles {
  readonly data?: GuardedData | undefined;
  /** A directory that is removed once the process has ended. */
  readonly temporary?: string;
}

/** A directory that serves one process at a time. */
export interface GuardedData {
  readonly directory: string;
  /** The name of the process's data file in it. */
  readonly file: string;
  /** What other names, as a regular expression, a data file could have; there must be none. */
  readonly rivals?: string;
  /** The name that the file had in earlier versions: it is renamed. */
  readonly earlierFile?: string;
}

/**
 * Starts a command under engine-supervisor.mjs, which also keeps the data directory to itself. The guard
 * leads a process group of its own: Ctrl-C reaches the whole group of the terminal, and the engine
 * has to outlive the requests that are being finished.
 */
export function startGuarded(
  command: string,
  args: readonly string[],
  files: GuardedFiles,
): GuardedProcess {
  const guard = spawn(process.execPath, [GUARD, JSON.stringify(files), command, ...args], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const pid = textOf(guard.stdout);
  const output = textOf(guard.stderr);
  guard.stdin.on('error', () => {}); // It has ended, which `ended` tells.
  const ended = once(guard, 'exit').then(() => {
    if (guard.signalCode !== null) killOrphan(Number(pid()));
    return linesOf(output()).slice(-REASON_LINES_MAX).join(' ').trim();
  });
  // An engine that somebody forgot to stop must not keep its owner from ending.
  guard.unref();
  for (const stream of [guard.stdin, guard.stdout, guard.stderr]) unref(stream);
  return {
    ended,
    lastError: () => linesOf(output()).findLast((line) => /exception|error/i.test(line)) ?? '',
    stop: async () => {
      guard.ref();
      guard.stdin.end();
      await ended;
    },
  };
}

/** Lines without the places in code that follow an exception of Java. */
function linesOf(text: string): readonly string[] {
  return text
    .trim()
    .split('\n')
    .filter((line) => !/^\s+(?:at |\.\.\. )/.test(line));
}

/** The pipes to a child are sockets, whatever their types say. */
function unref(stream: unknown): void {
  if (stream instanceof Socket) stream.unref();
}

/** The last that a stream said so far. */
function textOf(stream: NonNullable<ChildProcess['stdout']>): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-OUTPUT_CHARACTERS_MAX);
  });
  return () => text;
}

/** Should the guard itself be killed, its engine is ours to end. */
function killOrphan(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}
