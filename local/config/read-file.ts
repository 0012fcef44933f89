import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { CONFIG_LIMITS } from '../../shared/config/config-limits.ts';
import type { NamespaceConfig } from '../../shared/config/namespace-config.ts';
import { fileFault } from '../file-faults.ts';
import { ConfigError } from './config-error.ts';
import { parseJson } from './json-text.ts';
import { parseAnyConfig } from './parse.ts';

/**
 * Reads the configuration in a JSON file, in the vendor's format or in the short form. Throws ConfigError, whose first
 * line names the file.
 */
export async function readConfigFile(path: string): Promise<NamespaceConfig> {
  const text = await readText(path);
  try {
    return parseAnyConfig(parseJson(text));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.faults, `The configuration ${path} cannot be used. Change this:`);
  }
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size <= CONFIG_LIMITS.fileBytes) return decode(await readFile(path), path);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError([`The configuration ${path} cannot be read: ${fileFault(cause)}.`]);
  }
  throw new ConfigError([
    `The configuration ${path} is longer than ${CONFIG_LIMITS.fileBytes.toLocaleString('en-US')} bytes: create some of its entities later.`,
  ]);
}

/** The marks at the start of UTF-16, and the half of a first character that is ASCII. */
const UTF_16 = [
  [0xff, 0xfe],
  [0xfe, 0xff],
  [undefined, 0],
  [0, undefined],
] as const;

function decode(bytes: Buffer, path: string): string {
  const isUtf16 =
    bytes.length > 1 &&
    UTF_16.some((start) => start.every((byte, i) => byte === undefined || byte === bytes[i]));
  if (!isUtf16 && isUtf8(bytes)) return bytes.toString('utf8');
  const found = isUtf16 ? 'is in UTF-16' : 'is not in UTF-8';
  throw new ConfigError([`The configuration ${path} ${found}: save it in UTF-8.`]);
}
