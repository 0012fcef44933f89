import { accessSync, closeSync, constants, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { StartupError } from '../startup-error.ts';

/** How every file of SQLite begins, in which both engines keep their data. */
const MAGIC = Buffer.from('SQLite format 3\0', 'latin1');

/**
 * Checks that an engine can work with its data file, where there is one: DynamoDB Local would start, and
 * answer nothing. Throws StartupError.
 */
export function requireUsableData(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
  const problem = problemWith(file);
  if (problem === undefined) return;
  throw new StartupError(
    `The data file ${file} ${problem}: put it right, or choose another directory with --data.`,
  );
}

function problemWith(file: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return 'is not a file';
    accessSync(file, constants.R_OK | constants.W_OK);
    return holdsData(file) ? undefined : 'does not hold a database';
  } catch (error) {
    return `cannot be used (${(error as NodeJS.ErrnoException).code})`;
  }
}

/** An empty file is a database without tables. */
function holdsData(file: string): boolean {
  const begin = Buffer.alloc(MAGIC.length);
  const descriptor = openSync(file, 'r+');
  try {
    const length = readSync(descriptor, begin);
    return length === 0 || begin.equals(MAGIC);
  } finally {
    closeSync(descriptor);
  }
}
