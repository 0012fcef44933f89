import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { writeFault } from '../file-faults.ts';
import { StartupError, UsageError } from '../startup-error.ts';
import { fileOutput } from './file-output.ts';
import { type Output, writeTo } from './io.ts';

/** Where an export goes. */
export interface ExportTarget {
  /** Writes a text as a whole. Throws OutputClosedError, StartupError. */
  write(text: string): Promise<void>;
  /** Ends a complete export: only now a file gets its name. Throws StartupError. */
  finish(): void;
  /**
   * Ends an export, also after `finish`. Of one that is not complete, returns a sentence that says where its part is;
   * undefined if there is none, or if it is on the output.
   */
  giveUp(): string | undefined;
}

/** Messages may hold anything that is private, and policies have keys. */
const OWNER_ONLY = 0o600;

/** An export to the output of the command. */
export function outputTarget(output: Output): ExportTarget {
  return {
    write: (text) => writeTo(output, text),
    finish: () => {},
    giveUp: () => undefined,
  };
}

/**
 * An export to a file that only its user may read. A file of this name stays as it is until the export is complete: the
 * export goes to a file beside it, `<file>.<eight digits>.partial`, which replaces it at the end. A device or a pipe is
 * written to at once. Throws UsageError if the file cannot be written.
 */
export function fileTarget(file: string): ExportTarget {
  try {
    const there = statSync(file, { throwIfNoEntry: false });
    if (there === undefined) return partialTarget(file, file);
    if (!there.isFile() && !there.isDirectory()) return deviceTarget(file);
    requireWritableFile(file, there);
    // A link stays, and its file is replaced.
    return partialTarget(file, realpathSync(file));
  } catch (cause) {
    throw new UsageError(`The file ${file} cannot be written: ${writeFault(cause)}.`, { cause });
  }
}

function requireWritableFile(file: string, there: Stats): void {
  if (there.isDirectory()) throw Object.assign(new Error(file), { code: 'EISDIR' });
  accessSync(file, constants.W_OK);
}

function deviceTarget(file: string): ExportTarget {
  const descriptor = openSync(file, 'w');
  const output = fileOutput(descriptor);
  return {
    write: (text) => writeTo(output, text, `The file ${file}`),
    finish: () => attempt(file, () => closeSync(descriptor)),
    // The descriptor ends with the process.
    giveUp: () => undefined,
  };
}

function partialTarget(file: string, path: string): ExportTarget {
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`;
  const descriptor = openSync(partial, 'wx', OWNER_ONLY);
  const output = fileOutput(descriptor);
  let isFinished = false;
  return {
    write: (text) => writeTo(output, text, `The file ${file}`),
    finish: () =>
      attempt(file, () => {
        // Some file systems say only now that the disk is full.
        fsyncSync(descriptor);
        closeSync(descriptor);
        renameSync(partial, path);
        isFinished = true;
      }),
    giveUp: () => {
      if (isFinished) return undefined;
      if (statSync(partial).size > 0) {
        return `${file} is as it was; what was exported until then is in ${partial}.`;
      }
      rmSync(partial, { force: true });
      return undefined;
    },
  };
}

function attempt(file: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw new StartupError(`The file ${file} cannot be written: ${writeFault(cause)}.`, { cause });
  }
}
