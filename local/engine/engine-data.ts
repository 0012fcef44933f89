import { accessSync, closeSync, constants, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { fileFault } from '../file-faults.ts';
import { UsageError } from '../startup-error.ts';

/** The first bytes of every SQLite file. Both engines keep their data in SQLite files. */
const MAGIC = Buffer.from('SQLite format 3\0', 'latin1');

/**
 * Checks that an engine can use a data file, if the file exists. On an unusable file DynamoDB Local starts and
 * then answers no request. Throws UsageError.
 */
export function requireUsableData(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
  const problem = findProblem(file);
  if (problem === undefined) return;
  throw new UsageError(
    `The data file ${file} ${problem}: repair or remove it, or choose another directory with --data.`,
  );
}

function findProblem(file: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return 'is not a file';
    accessSync(file, constants.R_OK | constants.W_OK);
    return isDatabase(file) ? undefined : 'does not hold a database';
  } catch (error) {
    return `cannot be used (${fileFault(error)})`;
  }
}

/** Whether a file is a SQLite database. An empty file is a database without tables. */
function isDatabase(file: string): boolean {
  const header = Buffer.alloc(MAGIC.length);
  const descriptor = openSync(file, 'r+');
  try {
    const length = readSync(descriptor, header);
    return length === 0 || header.equals(MAGIC);
  } finally {
    closeSync(descriptor);
  }
}
