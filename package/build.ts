import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { bundle, bundleGateway } from '../cdk/constructs/bundle.ts';
import { FUNCTION_NAMES } from '../cdk/functions.ts';
import { bundlePage, explorerDefine } from '../explorer/build/bundle-page.ts';
import { lockedEngines } from './locked-engines.ts';
import { noticesOf } from './notices.ts';
import { writeTypes } from './types.ts';

/**
 * `npm run build`, which `npm pack` runs first: makes `dist/`, the whole content of the package. All packages that
 * the code uses are bundled, so that an install brings no others. Not minified, so that stack traces can be read, but
 * for the functions and the gateway, which are those that this repository deploys.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
/** For programs that load CommonJS, such as tests under jest. */
const COMMON_JS = join(DIST, 'cjs');

/** The entry points that users import, by the name of their file in `dist/`. */
const PUBLIC = {
  index: 'package/index.ts',
  testing: 'local/testing/testing.ts',
  connect: 'connect/index.ts',
  cdk: 'cdk/index.ts',
} as const;
/** The entry points that run as processes. */
const PROGRAMS = {
  cli: 'local/main.ts',
  'test-server': 'local/testing/test-server.ts',
} as const;

/** Bundled CommonJS packages load modules of Node by a `require` that ES modules do not have. It is theirs alone. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";
/** The other way round: in CommonJS a module does not know its own address. */
const IMPORT_META_URL = "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;";

const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node20',
  sourcemap: 'linked',
  // The sources would take as much room as everything else; lines of stack traces do without them.
  sourcesContent: false,
  // The SDK's ES modules can be tree-shaken, its CommonJS ones cannot.
  mainFields: ['module', 'main'],
  external: [
    // Native code for one platform; without it msgpackr uses JavaScript.
    'msgpackr-extract',
    // Constructs fit together only if all stacks of an app use one copy of these.
    'aws-cdk-lib',
    'constructs',
  ],
  plugins: [codeIsPrebuilt()],
  define: explorerDefine(),
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
} as const satisfies BuildOptions;

await main();

async function main(): Promise<void> {
  rmSync(DIST, { recursive: true, force: true });
  const bundles = await Promise.all([buildModules(), buildCommonJs()]);
  writeTypes(ROOT, Object.values(PUBLIC), [join(DIST, 'types'), join(COMMON_JS, 'types')]);
  copyFileSync(
    join(ROOT, 'local/engine/engine-supervisor.mjs'),
    join(DIST, 'engine-supervisor.mjs'),
  );
  writeEngines();
  const bundled = bundles.flatMap(({ inputs }) => Object.keys(inputs));
  const inputs = [...bundled, ...buildDeployed(), ...bundlePage().inputs];
  writeFileSync(join(DIST, 'THIRD-PARTY-NOTICES.txt'), noticesOf(ROOT, inputs));
}

async function buildModules(): Promise<Metafile> {
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: { ...PUBLIC, ...PROGRAMS },
    outdir: DIST,
    format: 'esm',
    // A command loads only what it uses.
    splitting: true,
    chunkNames: 'chunk-[hash]',
    banner: { js: REQUIRE },
  });
  return metafile;
}

async function buildCommonJs(): Promise<Metafile> {
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: PUBLIC,
    outdir: COMMON_JS,
    format: 'cjs',
    // Each of these has all of its code in one file, so the maps would take as much room as the code.
    sourcemap: false,
    banner: { js: IMPORT_META_URL },
    define: { ...explorerDefine(), 'import.meta.url': 'importMetaUrl' },
  });
  writeFileSync(join(COMMON_JS, 'package.json'), '{ "type": "commonjs" }\n');
  return metafile;
}

/** Bundles what `dynabus/cdk` deploys. Returns the source files. */
function buildDeployed(): readonly string[] {
  const functions = FUNCTION_NAMES.flatMap((name) => bundle(name, join(DIST, 'functions', name)));
  return [...functions, ...bundleGateway(join(DIST, 'gateway'))];
}

/** The constructs find their code in the package, and do not bundle it from source. */
function codeIsPrebuilt(): Plugin {
  return {
    name: 'code-is-prebuilt',
    setup({ onResolve }) {
      const path = join(ROOT, 'package/prebuilt-code.ts');
      onResolve({ filter: /\/function-code\.ts$/ }, () => ({ path }));
    },
  };
}

/** Writes what `npm ci` needs to install the engines on first use: the manifest, and a lock file with hashes. */
function writeEngines(): void {
  const manifest = readFileSync(join(ROOT, 'engines/package.json'), 'utf8');
  const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const directory = join(DIST, 'engines');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), manifest);
  writeFileSync(join(directory, 'package-lock.json'), lockedEngines(manifest, lock));
}
