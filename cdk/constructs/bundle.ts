import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, buildSync } from 'esbuild';
import { explorerDefine } from '../../explorer/build/bundle-page.ts';
import type { FunctionName } from '../functions.ts';

/** Top of the repository; functions are bundled by the path of their handler, never imported. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Bundles one function into `index.js`: minified, and with the AWS SDK, because the tree-shaken SDK loads faster than
 * the runtime's copy. Without a source map, which would be read at every cold start.
 *
 * Returns the source files that it contains, as paths from the top of the repository.
 */
export function bundle(name: FunctionName, outputDirectory: string): readonly string[] {
  return bundleEntry(`${functionFolder(name)}/handler.ts`, outputDirectory);
}

/**
 * Writes the build context of the gateway's image: its process as `index.js`, and the Dockerfile. Returns the source
 * files that the process contains.
 */
export function bundleGateway(outputDirectory: string): readonly string[] {
  const inputs = bundleEntry(`${GATEWAY_FOLDER}/main.ts`, outputDirectory);
  copyFileSync(`${GATEWAY_FOLDER}/Dockerfile`, `${outputDirectory}/Dockerfile`);
  return inputs;
}

/** The folder whose code a container runs. */
export const GATEWAY_FOLDER = `${ROOT}gateway`;

/** The folder whose code a function runs. */
export function functionFolder(name: FunctionName): string {
  return `${ROOT}lambdas/${name}`;
}

function bundleEntry(entry: string, outputDirectory: string): readonly string[] {
  const outfile = `${outputDirectory}/index.js`;
  const define = explorerDefine();
  const { metafile } = buildSync({ ...OPTIONS, define, entryPoints: [entry], outfile });
  return Object.keys(metafile.inputs);
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
  absWorkingDir: ROOT,
  metafile: true,
} as const satisfies BuildOptions;
