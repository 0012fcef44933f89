import { readFile, stat } from 'node:fs/promises';
import { ConfigError } from './config-error.ts';
import { CONFIG_LIMITS } from './config-limits.ts';
import { parseJson } from './json-text.ts';
import type { NamespaceConfig } from './namespace-config.ts';
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
    if (size <= CONFIG_LIMITS.fileBytes) return await readFile(path, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const reason = REASONS[code] ?? (cause instanceof Error ? cause.message : String(cause));
    throw new ConfigError([`The configuration ${path} cannot be read: ${reason}.`]);
  }
  throw new ConfigError([
    `The configuration ${path} is longer than ${CONFIG_LIMITS.fileBytes} bytes: create some of its entities later.`,
  ]);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a directory',
};
