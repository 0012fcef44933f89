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

/** Writes a text, and resolves when the system has taken it. Throws OutputClosedError. */
export function writeTo(output: Output, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(text, (error) => {
      if (error) reject(new OutputClosedError('The output is closed.', { cause: error }));
      else resolve();
    });
  });
}

/** The streams of this process. A first Ctrl-C aborts `interrupted`, a second ends the process at once. */
export function processIo(): Io {
  const controller = new AbortController();
  let isWatching = false;
  return {
    stdout: process.stdout,
    stderr: process.stderr,
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
