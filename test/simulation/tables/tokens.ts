import { notSimulated } from './failures.ts';

/** One word or sign of an expression. */
export interface Token {
  readonly kind: 'name' | 'value' | 'sign';
  readonly text: string;
}

/** `#a` and `a` are names, `:a` is a value, all others are signs; a name may be a keyword. */
const TOKEN = /\s*(?:(?<name>#?[A-Za-z_]\w*|#\w+)|(?<value>:\w+)|(?<sign><>|<=|>=|[=<>(),.+]))\s*/y;

const OPERATOR = /^(?:[<>=]+|AND|OR|BETWEEN)$/i;

/** The words and signs of an expression, read one by one. */
export class Tokens {
  readonly #all: readonly Token[];
  #next = 0;

  constructor(expression: string) {
    this.#all = split(expression);
  }

  /** Whether all tokens are read. */
  get isEmpty(): boolean {
    return this.#next === this.#all.length;
  }

  /** Reads the next token. */
  take(): Token {
    const token = this.#all[this.#next++];
    if (token === undefined) throw notSimulated('an expression that ends in the middle');
    return token;
  }

  /** Reads the next token if it is this sign or, in any case, this keyword. */
  takeIf(text: string): boolean {
    const token = this.#all[this.#next];
    if (token === undefined || token.kind === 'value') return false;
    if (token.text !== text && token.text.toUpperCase() !== text) return false;
    this.#next++;
    return true;
  }

  /** Reads the next token, which must be this one. */
  expect(text: string): void {
    if (!this.takeIf(text)) throw notSimulated(`an expression without '${text}' at this place`);
  }

  /** Whether a bracket follows the next token, which is then a function. */
  get isBeforeBracket(): boolean {
    return this.#all[this.#next + 1]?.text === '(';
  }

  /** How many comparisons, functions and logical words there are in a condition. */
  get operators(): number {
    const words = this.#all.filter(({ text }, i) => OPERATOR.test(text) || this.#isFunction(i));
    const betweens = words.filter(({ text }) => text.toUpperCase() === 'BETWEEN');
    // The AND between two bounds is part of BETWEEN.
    return words.length - betweens.length;
  }

  #isFunction(index: number): boolean {
    const { kind, text } = this.#all[index] as Token;
    return kind === 'name' && !OPERATOR.test(text) && this.#all[index + 1]?.text === '(';
  }

  /** The next token, which stays unread. */
  get ahead(): Token | undefined {
    return this.#all[this.#next];
  }
}

function split(expression: string): readonly Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < expression.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(expression)?.groups;
    if (groups === undefined) throw notSimulated(`the expression at '${expression.slice(at)}'`);
    const { name, value, sign = '' } = groups;
    if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else if (value !== undefined) tokens.push({ kind: 'value', text: value });
    else tokens.push({ kind: 'sign', text: sign });
  }
  return tokens;
}
