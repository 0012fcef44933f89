import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const SUPERVISOR = fileURLToPath(new URL('./engine-supervisor.mjs', import.meta.url));
/** The last part of an engine's output, kept to explain why the engine ended. */
const OUTPUT_CHARACTERS_MAX = 4000;
const REASON_LINES_MAX = 3;

/** A process that ends when this one does, also if this one is killed. */
export interface SupervisedProcess {
  /** Resolves with the last lines of its output when it has ended. */
  readonly ended: Promise<string>;
  /** The last line of its output that names an error; empty if there is none. */
  lastError(): string;
  /** Ends it by SIGTERM, and after three seconds by SIGKILL. Resolves when it has ended. */
  stop(): Promise<void>;
}

/** The files that the supervisor manages for a process. */
export interface SupervisedFiles {
  readonly data?: SupervisedData | undefined;
  readonly temporary?: TemporaryFiles;
}

/**
 * A directory that the supervisor creates for the process, and removes when the process has ended. If this process
 * created it and were killed before the supervisor runs, nobody would remove it.
 */
export interface TemporaryFiles {
  /** A path that is not in use. */
  readonly directory: string;
  /** By file name: the content in Base64. */
  readonly contents: Readonly<Record<string, string>>;
}

/** A data directory, which the supervisor locks for one process at a time. */
export interface SupervisedData {
  readonly directory: string;
  /** The name of the process's data file in it. */
  readonly file: string;
  /** A regular expression for names of data files; the directory may hold no other file that it matches. */
  readonly rivals?: string;
  /** The name of the data file in earlier versions: the supervisor renames such a file. */
  readonly legacyFile?: string;
}

/**
 * Starts a command under engine-supervisor.mjs, which also locks the data directory. The supervisor leads a
 * process group of its own: Ctrl-C reaches the terminal's whole process group, and the engine must still run
 * while the server finishes its requests.
 */
export function startSupervised(
  command: string,
  args: readonly string[],
  files: SupervisedFiles,
): SupervisedProcess {
  const supervisorArgs = [SUPERVISOR, JSON.stringify(files), command, ...args];
  const supervisor = spawn(process.execPath, supervisorArgs, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const pid = textOf(supervisor.stdout);
  const output = textOf(supervisor.stderr);
  supervisor.stdin.on('error', () => {}); // It has ended, which `ended` reports.
  const ended = once(supervisor, 'exit').then(() => {
    if (supervisor.signalCode !== null) killOrphan(Number(pid()));
    const lines = linesOf(output()).slice(-REASON_LINES_MAX);
    // The text goes into a sentence.
    return lines
      .map((line) => line.replace(/^error: /i, ''))
      .join(' ')
      .trim();
  });
  // A running engine must not keep this process alive if the caller does not stop it.
  supervisor.unref();
  for (const stream of [supervisor.stdin, supervisor.stdout, supervisor.stderr]) unref(stream);
  return {
    ended,
    lastError: () => linesOf(output()).findLast((line) => /exception|error/i.test(line)) ?? '',
    stop: async () => {
      supervisor.ref();
      supervisor.stdin.end();
      await ended;
    },
  };
}

/** The lines of a text without the stack frames of Java exceptions. */
function linesOf(text: string): readonly string[] {
  return text
    .trim()
    .split('\n')
    .filter((line) => !/^\s+(?:at |\.\.\. )/.test(line));
}

/** Unrefs a pipe to a child. Such pipes are sockets, although their types do not say so. */
function unref(stream: unknown): void {
  if (stream instanceof Socket) stream.unref();
}

/** Collects a stream. The returned function gives its last characters. */
function textOf(stream: NonNullable<ChildProcess['stdout']>): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-OUTPUT_CHARACTERS_MAX);
  });
  return () => text;
}

/** Kills the engine of a supervisor that was itself killed. */
function killOrphan(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
