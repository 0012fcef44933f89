import type { Writable } from 'node:stream';
import { fileFault, fileFaultCode } from '../file-faults.ts';
import { StartupError } from '../startup-error.ts';
import { fileOutput, isFileOutput } from './file-output.ts';

/** What a command reads and writes, so that tests can run it in their own process. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean };
  readonly env: NodeJS.ProcessEnv;
  /** Aborts when the user ends the command. A command that calls it lets its work end in good order. */
  readonly interrupted: () => AbortSignal;
}

/** A stream to write to. */
export interface Output {
  write(text: string, done: (error?: Error | null) => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The program behind `|` has ended, so nobody reads on. */
export class OutputClosedError extends Error {
  override readonly name = 'OutputClosedError';
}

/** The exit codes. */
export const EXIT = { done: 0, failed: 1, wrongInput: 2, interrupted: 130 } as const;

/** How a command ends. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * Writes a text, and resolves when the system has taken all of it. Throws OutputClosedError if nobody reads on, and
 * StartupError for every other reason, such as a full disk. `what` = the output in the sentence.
 */
export function writeTo(output: Output, text: string, what = 'The output'): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(text, (error) => {
      if (error) reject(outputError(error, what));
      else resolve();
    });
  });
}

function outputError(cause: Error, what: string): Error {
  if (fileFaultCode(cause) === 'EPIPE') {
    return new OutputClosedError(`${what} is closed.`, { cause });
  }
  return new StartupError(`${what} cannot be written: ${fileFault(cause)}.`, { cause });
}

/** The output of this process. `descriptor` is that of `stream`. */
function processOutput(stream: Output & Writable, descriptor: number): Output {
  if (isFileOutput(descriptor)) return fileOutput(descriptor);
  return {
    write: (text, done) => {
      // After a first error, the stream has only another one to say: that it is destroyed.
      stream.write(text, (error) => done(error && (stream.errored ?? error)));
    },
    get isTTY() {
      return stream.isTTY ?? false;
    },
    get columns() {
      return stream.columns ?? 0;
    },
  };
}

/** The streams of this process. A first Ctrl-C aborts `interrupted`, a second ends the process at once. */
export function processIo(): Io {
  const controller = new AbortController();
  let isWatching = false;
  return {
    stdout: processOutput(process.stdout, 1),
    stderr: processOutput(process.stderr, 2),
    stdin: process.stdin,
    env: process.env,
    interrupted: () => {
      if (!isWatching) {
        isWatching = true;
        const interrupt = () => {
          if (controller.signal.aborted) process.exit(EXIT.interrupted);
          controller.abort();
        };
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
      }
      return controller.signal;
    },
  };
}
