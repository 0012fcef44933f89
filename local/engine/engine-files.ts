import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '../startup-error.ts';
import { ENGINE_REGION } from './engine-address.ts';

/** The files of the engines in a data directory. Beside each, SQLite keeps others whose names begin so. */

/** Where DynamoDB Local kept the data of earlier versions, whatever access key asked. */
export const EARLIER_FILE = 'shared-local-instance.db';
export const DYNOXIDE_FILE = 'dynoxide.db';
/** DynamoDB Local names its files by access key and region; the key is letters and digits only. */
export const KEYED_FILE = new RegExp(`^([0-9a-f]{32})_${ENGINE_REGION}\\.db$`);
const KEYED_FILE_PART = new RegExp(`^([0-9a-f]{32})_${ENGINE_REGION}\\.db-\\w+$`);
/** With the lock, and the key that some earlier commits kept in a file of its own. */
const OWN_FILE = new RegExp(
  `^(?:[0-9a-f]{32}_${ENGINE_REGION}|shared-local-instance|dynoxide)\\.db(?:-\\w+)?$|^in-use\\.sock$|^dynamodb-local\\.key$`,
);

export function keyedFile(accessKey: string): string {
  return `${accessKey}_${ENGINE_REGION}.db`;
}

/**
 * The access key of DynamoDB Local, which shows its tables only to whoever knows it: the one that the
 * data file in a directory is named by, or a new one where there is none. Throws StartupError where there
 * are several.
 */
export function engineKey(directory: string | undefined): string {
  const names = directory === undefined ? [] : readdirSync(directory);
  const keys = keysIn(names, KEYED_FILE);
  if (keys.length > 1) {
    throw new StartupError(
      `The data directory ${directory} holds several data files, ${keys.map(keyedFile).join(' and ')}: move all but one away, each with the files whose names begin with its name.`,
    );
  }
  // Of data of an earlier version, the file itself is renamed last.
  return keys[0] ?? keysIn(names, KEYED_FILE_PART)[0] ?? randomBytes(16).toString('hex');
}

function keysIn(names: readonly string[], pattern: RegExp): readonly string[] {
  return names.flatMap((name) => pattern.exec(name)?.[1] ?? []);
}

/**
 * Takes from other users what they may do with a directory and the files of engines in it, which may be
 * older than the directory's use here. Returns whether nobody else can list the directory: one that
 * holds other files too is left as it is.
 */
export function keepToOwner(directory: string): boolean {
  // There are other rights than these.
  if (process.platform === 'win32') return true;
  if (isPrivate(directory)) return true;
  try {
    const names = readdirSync(directory);
    const own = names.filter((name) => OWN_FILE.test(name));
    for (const file of own.map((name) => join(directory, name))) {
      if (lstatSync(file).isFile()) chmodSync(file, 0o600);
    }
    if (own.length === names.length) chmodSync(directory, 0o700);
  } catch {
    // They belong to somebody else, or the file system knows no such rights.
  }
  return isPrivate(directory);
}

function isPrivate(directory: string): boolean {
  return (statSync(directory).mode & 0o077) === 0;
}
