import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '../startup-error.ts';
import { ENGINE_REGION } from './engine-address.ts';

/**
 * The engines' files in a data directory. Beside each data file, SQLite keeps files whose names begin with the
 * data file's name.
 */

/** The data file of DynamoDB Local in earlier versions of dynabus: one for all access keys. */
export const LEGACY_FILE = 'shared-local-instance.db';
export const DYNOXIDE_FILE = 'dynoxide.db';
/** DynamoDB Local names a data file after access key and region; the key has only letters and digits. */
export const DYNAMODB_LOCAL_FILE = new RegExp(`^([0-9a-f]{32})_${ENGINE_REGION}\\.db$`);
const DYNAMODB_LOCAL_FILE_PART = new RegExp(`^([0-9a-f]{32})_${ENGINE_REGION}\\.db-\\w+$`);
/** The files that engines and dynabus write: data files with SQLite's beside them, the lock, a former key file. */
const OWN_FILE = new RegExp(
  `^(?:[0-9a-f]{32}_${ENGINE_REGION}|shared-local-instance|dynoxide)\\.db(?:-\\w+)?$|^in-use\\.sock$|^dynamodb-local\\.key$`,
);

/** The name of DynamoDB Local's data file for an access key. */
export function dynamoDbLocalFile(accessKey: string): string {
  return `${accessKey}_${ENGINE_REGION}.db`;
}

/**
 * Chooses the access key of DynamoDB Local, which shows its tables only to clients that use this key: the key
 * in the name of the data file in a directory, or a new random key if there is no data file. Throws
 * StartupError if there are several data files.
 */
export function chooseAccessKey(directory: string | undefined): string {
  const names = directory === undefined ? [] : readdirSync(directory);
  const keys = keysIn(names, DYNAMODB_LOCAL_FILE);
  if (keys.length > 1) {
    throw new StartupError(
      `The data directory ${directory} holds several data files, ${keys.map(dynamoDbLocalFile).join(' and ')}: move all but one away, each with the files whose names begin with its name.`,
    );
  }
  // A data file of an earlier version is renamed after the files beside it, so these may hold the key already.
  return keys[0] ?? keysIn(names, DYNAMODB_LOCAL_FILE_PART)[0] ?? randomBytes(16).toString('hex');
}

function keysIn(names: readonly string[], pattern: RegExp): readonly string[] {
  return names.flatMap((name) => pattern.exec(name)?.[1] ?? []);
}

/**
 * Removes the rights of other users on the engines' files in a directory, and on the directory itself if it
 * holds no other files. Files that an earlier version created may grant such rights. Returns whether only the
 * owner can list the directory. Always true on Windows, whose access rights are different.
 */
export function keepToOwner(directory: string): boolean {
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
    // Another user owns the files, or the file system does not support these rights.
  }
  return isPrivate(directory);
}

function isPrivate(directory: string): boolean {
  return (statSync(directory).mode & 0o077) === 0;
}
