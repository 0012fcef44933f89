import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** TypeScript keeps the extension `.ts` of an import in a declaration, where no such file lies. */
const SOURCE_IMPORT = /(from '|import\(")(\.{1,2}\/[^'"]+)\.ts(?=['"])/g;

/** The modules that a declaration names, in an import of any form. */
const NAMED_MODULE = /(?:\bfrom |\bimport |\bimport\()["'](?<name>[^"']+)["']/g;
/** The packages that a user of the declarations has. */
const KNOWN_PACKAGE = /^(?:aws-cdk-lib|constructs)(?:\/|$)/;

/**
 * Writes the declarations of some entry points, and of what they use, into each of the directories. Throws if the
 * compiler refuses them, or if they name a package that a user may lack.
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
    keepOnlyUsed(output, entries);
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

/** The compiler declares every module of the program, and more than the declarations of the entry points name. */
function keepOnlyUsed(directory: string, entries: readonly string[]): void {
  const used = new Set(entries.map((entry) => join(directory, entry.replace(/\.ts$/, '.d.ts'))));
  // A set hands out what is added to it while it is walked.
  for (const file of used) {
    for (const { groups } of readFileSync(file, 'utf8').matchAll(NAMED_MODULE)) {
      const name = groups?.['name'] ?? '';
      if (name.startsWith('.')) used.add(join(file, '..', name.replace(/\.js$/, '.d.ts')));
      else if (!KNOWN_PACKAGE.test(name)) {
        throw new Error(`${relative(directory, file)} names ${name}, which users may not have.`);
      }
    }
  }
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && !used.has(file)) rmSync(file);
  }
}
