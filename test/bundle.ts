import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

/** Below `node_modules`, so that packages are found from there, and git is not concerned. */
const OUTPUT = join('node_modules', '.cache', 'dynabus-tests');

/**
 * Bundles files of tests, once for all of them: a process for each that compiled its own imports
 * took more of a machine than the tests themselves. Returns what to run, in the same order.
 */
export async function bundleTests(root: string, files: readonly string[]): Promise<string[]> {
  rmSync(join(root, OUTPUT), { recursive: true, force: true });
  await build({
    absWorkingDir: root,
    entryPoints: [...files],
    outdir: OUTPUT,
    outbase: '.',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    plugins: [ownUrls],
    logLevel: 'warning',
  });
  return files.map((file) => join(OUTPUT, file.replace(/\.ts$/, '.mjs')));
}

/** A module that asks where it is wants to hear where it was written. */
const ownUrls: Plugin = {
  name: 'own-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(
        'import.meta.url',
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: 'ts',
    }));
  },
};
