/** A text in a source file, and the code in front of it. */
export interface Literal {
  /** Where a template has a value, this has `${}`. */
  readonly text: string;
  /** The last few characters of code before it, without comments. */
  readonly before: string;
}

/** What can stand in front of a regular expression, and not in front of a division. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+*%<>~^-]|\breturn|\btypeof|\bcase|=>)\s*$/;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const QUOTED = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y;
const BEFORE_LENGTH = 40;
/** Stands for a value inside a template. */
const VALUE = `${'$'}{}`;

/**
 * Every text literal of a TypeScript source, in the three ways of quoting, those inside templates
 * too. Comments and regular expressions are passed over, whatever quotes they hold.
 */
export function literalsOf(source: string): readonly Literal[] {
  const literals: Literal[] = [];
  readCode(source, 0, literals);
  return literals;
}

/** Reads up to the brace that closes a value inside a template, or to the end; returns the place. */
function readCode(source: string, start: number, literals: Literal[]): number {
  let code = '';
  let depth = 0;
  let at = start;
  while (at < source.length) {
    const char = source.charAt(at);
    if (char === '}' && depth === 0 && start > 0) return at;
    if (char === '{') depth++;
    if (char === '}') depth--;
    const before = code.slice(-BEFORE_LENGTH);
    if (char === '`') {
      at = readTemplate(source, at, before, literals);
      code += '``';
      continue;
    }
    const comment = match(COMMENT, source, at);
    const quoted = comment === undefined ? match(QUOTED, source, at) : undefined;
    const regex =
      char === '/' && comment === undefined && BEFORE_REGEX.test(before)
        ? match(REGEX, source, at)
        : undefined;
    if (quoted !== undefined) literals.push({ text: plain(quoted.slice(1, -1)), before });
    const token = comment ?? quoted ?? regex;
    at += token?.length ?? 1;
    if (comment === undefined) code += token === undefined ? char : "''";
  }
  return at;
}

function readTemplate(source: string, start: number, before: string, literals: Literal[]): number {
  const place = literals.length;
  let text = '';
  let at = start + 1;
  while (at < source.length && source.charAt(at) !== '`') {
    if (source.startsWith('${', at)) {
      at = readCode(source, at + 2, literals) + 1;
      text += VALUE;
    } else {
      const length = source.charAt(at) === '\\' ? 2 : 1;
      text += source.slice(at, at + length);
      at += length;
    }
  }
  literals.splice(place, 0, { text: plain(text), before });
  return at + 1;
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

/** Quotes that had to be escaped; names of tests need no more. */
function plain(raw: string): string {
  return raw.replace(/\\(['"`\\$])/g, '$1');
}
