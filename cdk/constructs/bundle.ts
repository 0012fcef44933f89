import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, buildSync } from 'esbuild';
import type { FunctionName } from '../functions.ts';

/** Top of the repository; functions are bundled by the path of their handler, never imported. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Bundles one function into `index.js`: minified, and with the AWS SDK, because the tree-shaken SDK loads faster than
 * the runtime's copy. Without a source map, which would be read at every cold start.
 */
export function bundle(name: FunctionName, outputDirectory: string): void {
  buildSync({
    ...OPTIONS,
    entryPoints: [handlerPath(name)],
    outfile: `${outputDirectory}/index.js`,
  });
}

/** Writes the build context of the gateway's image: its process as `index.js`, and the Dockerfile. */
export function bundleGateway(outputDirectory: string): void {
  buildSync({
    ...OPTIONS,
    entryPoints: [`${GATEWAY_FOLDER}/main.ts`],
    outfile: `${outputDirectory}/index.js`,
  });
  copyFileSync(`${GATEWAY_FOLDER}/Dockerfile`, `${outputDirectory}/Dockerfile`);
}

/** The folder whose code a container runs. */
export const GATEWAY_FOLDER = `${ROOT}gateway`;

/** The folder whose code a function runs. */
export function functionFolder(name: FunctionName): string {
  return `${ROOT}lambdas/${name}`;
}

function handlerPath(name: FunctionName): string {
  return `${functionFolder(name)}/handler.ts`;
}

const OPTIONS = {
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node24',
  // CommonJS loads faster than ESM, because node reads and compiles it in one step.
  format: 'cjs',
  // The SDK's ESM sources can be tree-shaken, its CommonJS ones cannot.
  mainFields: ['module', 'main'],
  // Native code for the bundling machine; without it msgpackr uses JavaScript and loads faster.
  external: ['msgpackr-extract'],
  legalComments: 'none',
  logLevel: 'warning',
} as const satisfies BuildOptions;
