import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { groupsOf } from './runner/groups.ts';

/**
 * Has a directory for each run. Below `node_modules`, so that packages are found from there, and git is not
 * concerned.
 */
const OUTPUT = join('node_modules', '.cache', 'dynabus-tests');
/** Longer than any run. */
const LEFT_OVER_MS = 24 * 60 * 60_000;
const RUNNER = join('test', 'runner');
const REPORTER = 'reporter';
const PROCESS_START = 'process-start';
const SERVER = 'local-server';
const NUMBER_DIGITS = 4;
/**
 * Packages that few processes load, or that find files of their own at run time. All others are bundled, because
 * to find and compile the many files of the AWS SDK took each process, and each server that tests start, a
 * third of its start.
 */
const NOT_BUNDLED = [
  '@azure/*',
  '@seriousme/*',
  'ajv',
  'amqp10',
  'aws-cdk-lib',
  'constructs',
  'esbuild',
  'fast-check',
  'axe-core',
  'msgpackr-extract',
  'playwright-core',
  'service-bus-beta',
];
/** What `record.ts` of the simulation watches, so that all modules of a process share it. */
const NOT_BUNDLED_TO_RECORD = process.env['DYNABUS_SHAPES'] === undefined ? [] : ['@aws-sdk/*'];
/** Bundled CommonJS packages get node's own modules by a `require` that ES modules do not have. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; globalThis.require ??= requireOf(import.meta.url);";

/** Paths of built modules. */
export interface Bundles {
  /** What to run, a process each. */
  readonly tests: readonly string[];
  readonly reporter: string;
  /** To be imported first in each process. */
  readonly processStart: string;
  /** The local server, which tests start as a process. */
  readonly server: string;
}

/** Creates a directory for the bundles of one run, and removes those of runs that were killed. */
export function createOutput(root: string): string {
  const all = resolve(root, OUTPUT);
  mkdirSync(all, { recursive: true });
  for (const name of readdirSync(all)) {
    const path = join(all, name);
    const changedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (Date.now() - changedAt > LEFT_OVER_MS) rmSync(path, { recursive: true, force: true });
  }
  return mkdtempSync(join(all, 'run-'));
}

/**
 * Bundles all test files into a directory, in one run of esbuild. To compile the imports again in each test process
 * took longer than many tests.
 */
export async function bundleTests(
  root: string,
  files: readonly string[],
  output: string,
): Promise<Bundles> {
  const groups = groupsOf(files);
  const entries = groups.map(({ name, files, engine }, number) => {
    // The runner begins with the first in the order of names.
    const entry = `${String(number).padStart(NUMBER_DIGITS, '0')}-${name.replaceAll(/\W/g, '-')}.${engine}.test`;
    const imports = files.map((file) => `import ${JSON.stringify(resolve(root, file))};\n`);
    writeFileSync(join(output, `${entry}.ts`), imports.join(''));
    return entry;
  });
  await build({
    entryPoints: [
      ...entries.map((entry) => join(output, `${entry}.ts`)),
      ...[REPORTER, PROCESS_START].map((name) => resolve(root, RUNNER, `${name}.ts`)),
      { in: resolve(root, 'local', 'main.ts'), out: SERVER },
    ],
    entryNames: '[name]',
    outdir: output,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    keepNames: true,
    sourcemap: true,
    sourcesContent: false,
    external: [...NOT_BUNDLED, ...NOT_BUNDLED_TO_RECORD],
    banner: { js: REQUIRE },
    platform: 'node',
    format: 'esm',
    target: 'node20',
    plugins: [ownUrls],
    logLevel: 'warning',
  });
  const built = (name: string) => join(output, `${name}.mjs`);
  return {
    tests: entries.map(built),
    reporter: built(REPORTER),
    processStart: built(PROCESS_START),
    server: built(SERVER),
  };
}

/**
 * Replaces `import.meta.url` by the URL of the source file, since the bundle lies elsewhere, and keeps files that are
 * imported for what they do.
 */
const ownUrls: Plugin = {
  name: 'own-urls',
  setup({ onLoad, onResolve }) {
    // The package says that its files have no side effects; those of tests do: they register the tests.
    onResolve({ filter: /\.ts$/ }, ({ path, resolveDir, kind }) =>
      kind === 'entry-point' ? undefined : { path: resolve(resolveDir, path), sideEffects: true },
    );
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(
        'import.meta.url',
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: 'ts',
    }));
  },
};
