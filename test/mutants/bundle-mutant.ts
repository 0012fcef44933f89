import { readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { ROOT } from '../architecture/repository.ts';
import type { Planted } from './plant.ts';

/** Below `node_modules`, so that packages are found from there, and git is not concerned; one for each run. */
export const OUTPUT = join(ROOT, 'node_modules', '.cache', `dynabus-mutants-${process.pid}`);

/** Bundles an entry with a bug planted; no file of the product changes. Returns what to run. */
export async function bundleWith(entry: string, planted: Planted, name: string): Promise<string> {
  const outfile = join(OUTPUT, `${name}.mjs`);
  await build({
    entryPoints: [resolve(ROOT, entry)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    plugins: [planting(planted)],
    logLevel: 'silent',
  });
  return outfile;
}

/** Hands out changed files in place of those on disk. A module that asks where it is hears where it was written. */
function planting(planted: Planted): Plugin {
  return {
    name: 'planting',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const text = planted.get(relative(ROOT, path).split(sep).join('/'));
        return {
          contents: (text ?? readFileSync(path, 'utf8')).replaceAll(
            'import.meta.url',
            JSON.stringify(pathToFileURL(path).href),
          ),
          loader: 'ts',
        };
      });
    },
  };
}
