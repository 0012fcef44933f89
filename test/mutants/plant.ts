import { readText, sourceFiles } from '../architecture/repository.ts';
import type { Edit, Mutant } from './mutant.ts';

/** Where bugs may be planted. */
const PRODUCT = /^(?:shared|lambdas\/http)\//;

/** The product's files, by their paths from the top of the repository. */
export type Sources = ReadonlyMap<string, string>;

/** Reads the product as it is now. */
export function productSources(): Sources {
  const paths = sourceFiles().filter((path) => PRODUCT.test(path));
  return new Map(paths.map((path) => [path, readText(path)]));
}

/** Files in which a bug is planted, by their paths from the top: all that differ from the product. */
export type Planted = ReadonlyMap<string, string>;

/** What a bug was to change does not stand in the product, or not there alone. */
export class AnchorGone extends Error {
  constructor({ name }: Mutant, { find }: Edit, found: readonly string[]) {
    const where = found.length === 0 ? '' : ` (${found.join(', ')})`;
    super(
      `The text of the mutant '${name}' occurs ${found.length} times in the product, not once${where}: ${find}`,
    );
    this.name = 'AnchorGone';
  }
}

/** Plants a bug. Throws AnchorGone. */
export function plant(sources: Sources, mutant: Mutant): Planted {
  const planted = new Map<string, string>();
  for (const edit of [mutant, ...(mutant.also ?? [])]) {
    const anchor = anchorOf(edit.find);
    // What another edit of the same mutant put there is no anchor.
    const found = [...sources].flatMap(([path, text]) =>
      Array.from(text.matchAll(anchor), () => path),
    );
    const [path] = found;
    if (path === undefined || found.length > 1) throw new AnchorGone(mutant, edit, found);
    const text = planted.get(path) ?? sources.get(path) ?? '';
    planted.set(
      path,
      text.replace(anchor, () => edit.replace),
    );
  }
  return planted;
}

/** White space and comments. */
const GAP = String.raw`(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)`;
const CLOSING = new Set([')', ']', '}']);

/** Finds a text whatever its white space, its comments and its trailing commas. */
function anchorOf(text: string): RegExp {
  const words = [...text.matchAll(/[\w$]+|[^\s\w$]/g)].map(([word]) => word);
  const kept = words.filter((word, i) => word !== ',' || !CLOSING.has(words[i + 1] ?? ''));
  const pattern = kept.map((word, i) => {
    const before = kept[i - 1];
    if (before === undefined) return literally(word);
    if (CLOSING.has(word)) return `${GAP}*(?:,${GAP}*)?${literally(word)}`;
    return `${isWord(before) && isWord(word) ? `${GAP}+` : `${GAP}*`}${literally(word)}`;
  });
  const start = isWord(kept[0]) ? String.raw`(?<![\w$])` : '';
  const end = isWord(kept.at(-1)) ? String.raw`(?![\w$])` : '';
  return new RegExp(start + pattern.join('') + end, 'g');
}

function isWord(text = ''): boolean {
  return /^[\w$]/.test(text);
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
