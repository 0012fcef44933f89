import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A program or package that a peer needs is missing; the message says which. */
export class NotInstalledError extends Error {}

/** Finds a program in given folders or in those of PATH. Throws NotInstalledError. */
export function findProgram(name: string, folders: readonly string[] = []): string {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const found = [...folders, ...path].map((folder) => join(folder, name)).find(existsSync);
  if (found === undefined) throw new NotInstalledError(`there is no ${name} on this machine`);
  return found;
}

/** The folders of a program of which a system keeps several versions, `top/version/bin`; the newest first. */
export function versionedFolders(top: string): readonly string[] {
  if (!existsSync(top)) return [];
  const versions = readdirSync(top).sort((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(top, version, 'bin'));
}

/** The version that a program prints. */
export async function versionOf(program: string): Promise<string> {
  const { stdout } = await run(program, ['--version']);
  return /\d+(?:\.\d+)+/.exec(stdout)?.[0] ?? '';
}

/** A module of a package that is installed in a folder, and the version of the package. */
export interface PeerPackage<Module> {
  readonly module: Module;
  readonly version: string;
}

/** Loads a package from a folder. The caller says what it uses of the module. Throws NotInstalledError. */
export async function loadPackage<Module>(
  folder: string | undefined,
  name: string,
): Promise<PeerPackage<Module>> {
  if (folder === undefined) throw new NotInstalledError('no folder with node packages was given');
  const top = resolve(folder);
  const description = join(top, 'node_modules', name, 'package.json');
  if (!existsSync(description)) {
    throw new NotInstalledError(`the folder with node packages has no ${name}`);
  }
  const { version } = JSON.parse(readFileSync(description, 'utf8')) as { version: string };
  const entry = createRequire(join(top, 'package.json')).resolve(name);
  return { module: (await import(pathToFileURL(entry).href)) as Module, version };
}
