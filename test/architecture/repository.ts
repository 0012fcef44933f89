import { readdirSync, readFileSync } from 'node:fs';
import { dirname, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Top of the repository, without a closing slash. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Generated or downloaded folders. */
const NOT_OURS = new Set(['node_modules', '.git', 'cdk.out', 'dist', '.dynabus']);

/** Every file of the repository as a path from its top, with `/` between. */
export function repositoryFiles(folder = ROOT): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.has(name))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? repositoryFiles(path) : [relative(ROOT, path)];
    });
}

/** Every TypeScript file. */
export function sourceFiles(): readonly string[] {
  return repositoryFiles().filter((path) => /\.tsx?$/.test(path));
}

export function readText(path: string): string {
  return readFileSync(`${ROOT}/${path}`, 'utf8');
}

/** One import: of a file of ours as its path from the top, of anything else as it is written. */
export interface Import {
  readonly target: string;
  /** As it is written. */
  readonly written: string;
  readonly isOurs: boolean;
  /** Gone when the code runs. */
  readonly isTypeOnly: boolean;
}

/** `import … from 'x'`, `export … from 'x'`, `import 'x'` and `import('x')`. */
const IMPORT =
  /^\s*(?:import|export)\s+(?<type>type\s)?[^'"`;]*?\bfrom\s+'(?<from>[^']+)'|^\s*import\s+'(?<bare>[^']+)'|\bimport\(\s*'(?<dynamic>[^']+)'/gm;

export function importsOf(path: string): readonly Import[] {
  return [...readText(path).matchAll(IMPORT)].map(({ groups = {} }) => {
    const written = groups['from'] ?? groups['bare'] ?? groups['dynamic'] ?? '';
    const isOurs = written.startsWith('.');
    return {
      target: isOurs ? posix.join(posix.dirname(path), written) : written,
      written,
      isOurs,
      isTypeOnly: groups['type'] !== undefined,
    };
  });
}
