import { FilterError } from '../filter-error.ts';
import { FILTER_LIMITS } from '../filter-limits.ts';

/** The kind of a token. A `word` is a keyword or a name; a `name` was delimited, so it is never a keyword. */
export type TokenKind =
  | 'word'
  | 'name'
  | 'string'
  | 'integer'
  | 'double'
  | 'parameter'
  | 'symbol'
  | 'end';

/** The smallest part of an expression (semantics R4). */
export interface Token {
  readonly kind: TokenKind;
  /** The text without delimiters or `@`; doubled delimiters are replaced by single ones. */
  readonly text: string;
  /** Offset of the first character. */
  readonly at: number;
}

/**
 * Words that must be delimited to name a property. SET and REMOVE are not reserved, since no name can occur
 * where they can.
 */
export const RESERVED: ReadonlySet<string> = new Set([
  'AND',
  'OR',
  'NOT',
  'IN',
  'IS',
  'LIKE',
  'ESCAPE',
  'EXISTS',
  'NULL',
  'TRUE',
  'FALSE',
]);

const BLANK = /\s+/y;
const WORD = /\p{L}[\p{L}\p{Nd}_]*/uy;
const PARAMETER = /@[\p{L}\p{Nd}_]+/uy;
const NUMBER = /[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const AFTER_NUMBER = /[\p{L}\p{Nd}_.]/uy;
const SYMBOL = /<>|!=|<=|>=|[=<>+\-*/%(),;.]/y;

/** Splits an expression into tokens, of which the last is `end`. Throws FilterError. */
export function tokenize(text: string): readonly Token[] {
  if (text.length > FILTER_LIMITS.parsedLength) {
    throw new FilterError(
      `an expression may be ${FILTER_LIMITS.parsedLength} characters long at most.`,
      { text, at: 0 },
    );
  }
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at += match(BLANK, text, at).length;
    if (at === text.length) break;
    const { token, end } = readToken(text, at);
    tokens.push(token);
    at = end;
  }
  tokens.push({ kind: 'end', text: '', at });
  return tokens;
}

function readToken(text: string, at: number): { readonly token: Token; readonly end: number } {
  const first = text[at];
  if (first === "'") return readQuoted(text, at, { kind: 'string', close: "'" });
  if (first === '"') return readQuoted(text, at, { kind: 'name', close: '"' });
  if (first === '[') return readQuoted(text, at, { kind: 'name', close: ']' });

  const word = match(WORD, text, at);
  if (word !== '') return { token: { kind: 'word', text: word, at }, end: at + word.length };
  const symbol = match(SYMBOL, text, at);
  if (symbol !== '') {
    return { token: { kind: 'symbol', text: symbol, at }, end: at + symbol.length };
  }
  const parameter = match(PARAMETER, text, at);
  if (parameter !== '') {
    const token: Token = { kind: 'parameter', text: parameter.slice(1), at };
    return { token, end: at + parameter.length };
  }
  const number = match(NUMBER, text, at);
  if (number !== '') return { token: numberToken(text, at, number), end: at + number.length };
  throw new FilterError(`unexpected character ${unexpected(text, at)}`, { text, at });
}

function numberToken(text: string, at: number, number: string): Token {
  const end = at + number.length;
  if (match(AFTER_NUMBER, text, end) !== '') {
    throw new FilterError(
      `'${number}' must not be followed by '${text[end]}': a number is written 1, 1.5 or 1.5E3, a name that starts with a digit in [ ].`,
      { text, at },
    );
  }
  if (/^[0-9]+$/.test(number)) return { kind: 'integer', text: number, at };
  if (Number.isFinite(Number(number))) return { kind: 'double', text: number, at };
  throw new FilterError(`the number ${shorten(number)} is too large for a double.`, { text, at });
}

/** A doubled closing character stands for one such character in the text (semantics R6, R7). */
function readQuoted(
  text: string,
  at: number,
  { kind, close }: { readonly kind: TokenKind; readonly close: string },
): { readonly token: Token; readonly end: number } {
  let end = text.indexOf(close, at + 1);
  while (end !== -1 && text[end + 1] === close) end = text.indexOf(close, end + 2);
  const what = kind === 'string' ? 'string' : 'name';
  if (end === -1) throw new FilterError(`this ${what} has no closing ${close}`, { text, at });
  if (kind === 'name' && end === at + 1) {
    throw new FilterError('a name must have at least one character.', { text, at });
  }
  const content = text.slice(at + 1, end).replaceAll(close + close, close);
  return { token: { kind, text: content, at }, end: end + 1 };
}

/** The unexpected character, with a hint what to write instead for likely mistakes. */
function unexpected(text: string, at: number): string {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (character === '_') return `'_': a name starts with a letter; delimit others with [ ].`;
  if (character === '!') return `'!': write != or NOT.`;
  if (character === '@') return `'@': a parameter is written @name.`;
  return `'${character}'.`;
}

/** The name of a token in an error. */
export function describeToken(token: Token): string {
  if (token.kind === 'end') return 'the end of the text';
  if (token.kind === 'string') return `the string '${shorten(token.text)}'`;
  if (token.kind === 'name') return `the name [${shorten(token.text)}]`;
  return `'${token.kind === 'parameter' ? '@' : ''}${shorten(token.text)}'`;
}

function shorten(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}

function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}
