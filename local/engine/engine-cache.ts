import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The manifest and the lock file of the engines, which the package carries beside its code. A clone of the repository
 * has none here: there, `npm ci` installs the engines.
 */
export const ENGINE_MANIFESTS = fileURLToPath(new URL('./engines', import.meta.url));
const HASH_LENGTH = 12;

/**
 * The folder in which engines are installed for all projects of this user; undefined in a clone. Its name holds a hash
 * of what is installed, so that each version of dynabus has the engines that it was tested with.
 */
export function engineCache(
  env: NodeJS.ProcessEnv = process.env,
  manifests = ENGINE_MANIFESTS,
): string | undefined {
  const lock = join(manifests, 'package-lock.json');
  if (!existsSync(lock)) return undefined;
  const hash = createHash('sha256').update(readFileSync(lock)).digest('hex');
  return join(cacheDirectory(env), 'dynabus', `engines-${hash.slice(0, HASH_LENGTH)}`);
}

function cacheDirectory({ XDG_CACHE_HOME, LOCALAPPDATA }: NodeJS.ProcessEnv): string {
  if (XDG_CACHE_HOME) return XDG_CACHE_HOME;
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches');
  if (process.platform === 'win32') return LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local');
  return join(homedir(), '.cache');
}
