import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from './startup-error.ts';

/** Keeps the access key beside the data, which DynamoDB Local finds by it. The guard knows the name too. */
export const ENGINE_KEY_FILE = 'dynamodb-local.key';

/** DynamoDB Local takes letters and digits only. */
const KEY = /^[0-9a-f]{32}$/;

/**
 * The access key of an engine: DynamoDB Local shows its tables only to whoever knows it. A new one for
 * data in memory; one that is kept in the directory, readable by its owner only, for data on disk.
 * Throws StartupError.
 */
export function obtainEngineKey(directory: string | undefined): string {
  if (directory === undefined) return newKey();
  const file = join(directory, ENGINE_KEY_FILE);
  try {
    return readKey(file) ?? writeKey(file);
  } catch (cause) {
    if (cause instanceof StartupError) throw cause;
    throw new StartupError(`The key of the engine cannot be kept in ${file}.`, { cause });
  }
}

function newKey(): string {
  return randomBytes(16).toString('hex');
}

function readKey(file: string): string | undefined {
  const text = readIfThere(file)?.trim();
  if (text === undefined || KEY.test(text)) return text;
  throw new StartupError(
    `The file ${file} does not hold the key of the engine: 32 hexadecimal digits, with which the name of the data file beside it begins. Put them back.`,
  );
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Fails where another process has just written one. */
function writeKey(file: string): string {
  const key = newKey();
  writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
  return key;
}
