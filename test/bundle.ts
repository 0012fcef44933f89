import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

/** Below `node_modules`, so that packages are found from there, and git is not concerned. */
const OUTPUT = join('node_modules', '.cache', 'dynabus-tests');
/** What takes long, or starts processes, has a process of its own. */
const ALONE = ['model', 'local', 'compat'].map((folder) => join('test', folder));
/** Changes how every broker of its process is started. */
const IN_TURNS = '-in-turns.test.ts';
/** Fill the tables of their process, which other tests read as a whole. */
const FILLING =
  /spec\/(answer-\w[\w-]*|budgets|competing-receivers|full-entities|partitions-full)\.test\.ts$/;
/** Few processes start sooner and run warmer; several share the cores. */
const FILES_PER_PROCESS = 8;

/**
 * Bundles files of tests, once for all of them: to compile what each imports, in a process for
 * each, took more of a machine than many of the tests. Returns what to run, a process each.
 */
export async function bundleTests(root: string, files: readonly string[]): Promise<string[]> {
  const output = resolve(root, OUTPUT);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const entryPoints = groupsOf(files).map((group, number) => {
    const entry = join(output, `${number}-${group.name.replaceAll(/\W/g, '-')}.test.ts`);
    const imports = group.files.map((file) => `import ${JSON.stringify(resolve(root, file))};\n`);
    writeFileSync(entry, imports.join(''));
    return entry;
  });
  await build({
    entryPoints,
    outdir: output,
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
  return entryPoints.map((entry) => entry.replace(/\.ts$/, '.mjs'));
}

interface Group {
  readonly name: string;
  readonly files: readonly string[];
}

/** Those alone first: to begin the longest last would leave the other cores idle. */
function groupsOf(files: readonly string[]): readonly Group[] {
  const alone = [
    ...ALONE.flatMap((folder) => files.filter((file) => dirname(file) === folder)),
    ...files.filter((file) => file.endsWith(IN_TURNS) || FILLING.test(file)),
  ];
  const others = files.filter((file) => !alone.includes(file));
  const together = [...new Set(others.map(dirname))].flatMap((folder) => {
    const inFolder = others.filter((file) => dirname(file) === folder);
    const count = Math.ceil(inFolder.length / FILES_PER_PROCESS);
    return Array.from({ length: count }, (_, group) => ({
      name: folder,
      files: inFolder.filter((_, i) => i % count === group),
    }));
  });
  return [...alone.map((file) => ({ name: file, files: [file] })), ...together];
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
