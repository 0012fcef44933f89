import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Makes the tarball of the package and installs it, for the tests of the package and the benchmark. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Variables that would make npm, or what it starts, behave as in this repository. */
const NOT_INHERITED =
  /^(?:npm_|INIT_CWD$|DYNAMODB_ENDPOINT$|DYNABUS_|NODE_TEST_CONTEXT$|NODE_OPTIONS$|JDK_JAVA_OPTIONS$)/i;

/** The environment of a new user, with some variables of the caller. */
export function newUser(variables: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !NOT_INHERITED.test(name));
  return { ...Object.fromEntries(inherited), ...variables };
}

/** Builds and packs the package. Returns the path of the tarball. Throws with the output of npm. */
export function pack(directory: string): string {
  const [packed] = JSON.parse(
    npm(ROOT, ['pack', '--json', '--pack-destination', directory]),
  ) as readonly { readonly filename: string }[];
  if (packed === undefined) throw new Error('npm pack made no tarball.');
  return join(directory, packed.filename);
}

/** Installs packages in a folder, which becomes a project of its own. Throws with the output of npm. */
export function install(folder: string, packages: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  const manifest = join(folder, 'package.json');
  if (!readdirSync(folder).includes('package.json')) writeFileSync(manifest, '{"private":true}\n');
  npm(folder, ['install', '--no-audit', '--no-fund', '--prefer-offline', ...packages]);
}

/** Runs npm as a new user. Returns its output. */
function npm(folder: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    env: newUser(),
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  throw new Error(`npm ${args.join(' ')} failed: ${error?.message ?? stderr}`);
}

/** The size of all files below a folder, bytes; links count as nothing. */
export function sizeOf(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += lstatSync(join(entry.parentPath, entry.name)).size;
  }
  return bytes;
}
