import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, buildSync } from 'esbuild';

/** The name of a file of the page. */
type PageFile = 'index.html' | 'app.js' | 'app.css' | 'icon.svg';

const EXPLORER = fileURLToPath(new URL('..', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The built page. */
export interface BuiltPage {
  /** Each file as base64 of gzip. */
  readonly files: Readonly<Record<PageFile, string>>;
  /** The source files that it contains, from the top of the repository. */
  readonly inputs: readonly string[];
}

let page: BuiltPage | undefined;

/** Builds the page from source, once. Throws Error with the faults of the source. */
export function bundlePage(): BuiltPage {
  page ??= build();
  return page;
}

function build(): BuiltPage {
  const { outputFiles, metafile } = buildSync(OPTIONS);
  const built = (name: PageFile) =>
    packed(outputFiles.find(({ path }) => path.endsWith(`/${name}`))?.contents ?? '');
  const asIs = (name: PageFile) => packed(readFileSync(EXPLORER + name));
  return {
    files: {
      'index.html': asIs('index.html'),
      'icon.svg': asIs('icon.svg'),
      'app.js': built('app.js'),
      'app.css': built('app.css'),
    },
    inputs: Object.keys(metafile.inputs),
  };
}

function packed(content: string | Uint8Array): string {
  return gzipSync(content, { level: 9 }).toString('base64');
}

const OPTIONS = {
  entryPoints: [
    { in: `${EXPLORER}main.tsx`, out: 'app' },
    { in: `${EXPLORER}styles/page.css`, out: 'app' },
  ],
  bundle: true,
  minify: true,
  write: false,
  outdir: EXPLORER,
  absWorkingDir: ROOT,
  metafile: true,
  platform: 'browser',
  format: 'esm',
  target: ['chrome123', 'firefox128', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'silent',
} as const satisfies BuildOptions;

/** What a bundle that serves the page gets in the place of `DYNABUS_EXPLORER`; see `pageFiles`. */
export function explorerDefine(): { readonly DYNABUS_EXPLORER: string } {
  return { DYNABUS_EXPLORER: JSON.stringify(JSON.stringify(bundlePage().files)) };
}
