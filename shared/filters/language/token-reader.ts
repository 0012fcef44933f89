import { FilterError } from '../filter-error.ts';
import { FILTER_LIMITS } from '../filter-limits.ts';
import { describe, type Token, tokenize } from './tokens.ts';

/** Walks over the tokens of one text for the parser, and guards how deep it goes. */
export class TokenReader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #end: Token;
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokenize(text);
    this.#end = { kind: 'end', text: '', at: text.length };
  }

  /** The token `ahead` places on, without taking it. Past the end there is always `end`. */
  peek(ahead = 0): Token {
    return this.#tokens[this.#next + ahead] ?? this.#end;
  }

  /** Takes the next token. */
  take(): Token {
    const token = this.peek();
    this.#next += 1;
    return token;
  }

  /** Takes the keyword, in any case of letters, if it is next. */
  takeWord(keyword: string): boolean {
    const token = this.peek();
    const found = token.kind === 'word' && token.text.toUpperCase() === keyword;
    if (found) this.#next += 1;
    return found;
  }

  /** Takes the sign if it is next. */
  takeSymbol(symbol: string): boolean {
    const token = this.peek();
    const found = token.kind === 'symbol' && token.text === symbol;
    if (found) this.#next += 1;
    return found;
  }

  /** Takes the sign or throws. */
  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.expected(`'${symbol}'`);
  }

  /** The error for a next token that does not fit. */
  expected(what: string): FilterError {
    return this.error(this.peek(), `expected ${what}, found ${describe(this.peek())}.`);
  }

  /** An error at a token. */
  error(token: Token, reason: string): FilterError {
    return new FilterError(reason, { text: this.#text, at: token.at });
  }

  /** Goes one level deeper. Throws where that is too deep for a parser that recurses. */
  enter(): void {
    this.#depth += 1;
    if (this.#depth <= FILTER_LIMITS.depth) return;
    throw this.error(
      this.peek(),
      `an expression may be nested ${FILTER_LIMITS.depth} levels deep at most.`,
    );
  }

  /** Comes back up one level. */
  leave(): void {
    this.#depth -= 1;
  }
}
