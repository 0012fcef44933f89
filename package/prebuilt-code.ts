import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { FunctionName } from '../cdk/functions.ts';

/**
 * The code of the functions and of the gateway as the package has it: bundled when the package was built. The build
 * puts this file in the place of cdk/constructs/function-code.ts.
 */

/** Where the folders lie: beside this code, and above it in its CommonJS form. */
const PLACES = ['./', '../'];

/** The code of a function: a folder with `index.js`, which exports `handler`. */
export function functionCode(name: FunctionName): Code {
  return Code.fromAsset(folderOf(`functions/${name}`));
}

/** The folder with the build context of the gateway's image. */
export function gatewayContext(): string {
  return folderOf('gateway');
}

function folderOf(path: string): string {
  const folders = PLACES.map((place) => fileURLToPath(new URL(place + path, import.meta.url)));
  const folder = folders.find((each) => existsSync(`${each}/index.js`));
  if (folder !== undefined) return folder;
  throw new Error(
    `The code of dynabus is missing in ${folders.join(' and ')}: install dynabus again, and if your app is bundled, leave dynabus out of the bundle.`,
  );
}
