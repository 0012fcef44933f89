import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** TypeScript keeps the extension `.ts` of an import in a declaration, where no such file lies. */
const SOURCE_IMPORT = /(from '|import\(")(\.{1,2}\/[^'"]+)\.ts(?=['"])/g;

/**
 * Writes the declarations of some entry points, and of what they use, into each of the directories. Throws if the
 * compiler refuses them.
 * @param entries paths from the root
 */
export function writeTypes(
  root: string,
  entries: readonly string[],
  directories: readonly string[],
): void {
  const work = mkdtempSync(join(tmpdir(), 'dynabus-types-'));
  try {
    const project = join(work, 'tsconfig.json');
    const output = join(work, 'types');
    writeFileSync(project, JSON.stringify(projectOf(root, entries, output)));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const { status } = spawnSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' });
    if (status !== 0) throw new Error('The declarations could not be made.');
    rewriteImports(output);
    for (const directory of directories) cpSync(output, directory, { recursive: true });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function projectOf(root: string, entries: readonly string[], outDir: string) {
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      stripInternal: true,
      rootDir: root,
      typeRoots: [join(root, 'node_modules/@types')],
      outDir,
    },
    include: [],
    files: entries.map((entry) => join(root, entry)),
  };
}

function rewriteImports(directory: string): void {
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = join(directory, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(SOURCE_IMPORT, '$1$2.js'));
  }
}
