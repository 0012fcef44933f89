import { accessSync, constants, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { writeFault } from './file-faults.ts';
import { StartupError, UsageError } from './startup-error.ts';

/** How programs reach a namespace that is ready. */
export interface Readiness {
  /** The address over HTTP, without a slash at the end. */
  readonly url: string;
  /** For the messaging clients. It holds the key. */
  readonly connectionString: string;
  /** For the administration clients; here the same, since one port serves both. */
  readonly adminConnectionString: string;
  readonly pid: number;
}

/** A file that exists while a namespace is ready. */
export interface ReadyFile {
  /** Writes the file at once and as a whole, readable by this user only. Throws StartupError. */
  write(readiness: Readiness): void;
  /** Removes the file if it was written. */
  remove(): void;
}

/**
 * Prepares a file that says how to reach a namespace. A file of an earlier server, which was killed, is removed, so
 * that nobody takes it for this one's. Throws UsageError if its directory cannot be written to.
 */
export function readyFile(path: string): ReadyFile {
  const file = resolve(path);
  try {
    accessSync(dirname(file), constants.W_OK);
    rmSync(file, { force: true });
  } catch (cause) {
    throw new UsageError(`The ready file ${file} cannot be written: ${writeFault(cause)}.`, {
      cause,
    });
  }
  let isWritten = false;
  return {
    write: (readiness) => {
      const temporary = `${file}.${process.pid}`;
      try {
        writeFileSync(temporary, `${JSON.stringify(readiness)}\n`, { mode: 0o600 });
        renameSync(temporary, file);
        isWritten = true;
      } catch (cause) {
        rmSync(temporary, { force: true });
        throw new StartupError(`The ready file ${file} cannot be written: ${writeFault(cause)}.`, {
          cause,
        });
      }
    },
    remove: () => {
      if (isWritten) rmSync(file, { force: true });
    },
  };
}
