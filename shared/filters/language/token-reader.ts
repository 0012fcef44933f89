import { FilterError } from '../filter-error.ts';
import { FILTER_LIMITS } from '../filter-limits.ts';
import { describeToken, type Token, tokenize } from './tokens.ts';

/**
 * The parser's position in the tokens of one text, and its nesting depth. Its constructor throws FilterError.
 */
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

  /**
   * The token `ahead` places after the next one, without taking it. Behind the last token it is always `end`.
   */
  peek(ahead = 0): Token {
    return this.#tokens[this.#next + ahead] ?? this.#end;
  }

  /** Takes the next token. */
  take(): Token {
    const token = this.peek();
    this.#next += 1;
    return token;
  }

  /** Takes the keyword if it is next, ignoring case (semantics R8). */
  takeWord(keyword: string): boolean {
    const token = this.peek();
    const found = token.kind === 'word' && token.text.toUpperCase() === keyword;
    if (found) this.#next += 1;
    return found;
  }

  /** Takes the symbol if it is next. */
  takeSymbol(symbol: string): boolean {
    const token = this.peek();
    const found = token.kind === 'symbol' && token.text === symbol;
    if (found) this.#next += 1;
    return found;
  }

  /** Takes the symbol. Throws FilterError if another token is next. */
  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.expected(`'${symbol}'`);
  }

  /** Creates the error that the next token is not the expected one. */
  expected(what: string): FilterError {
    return this.error(this.peek(), `expected ${what}, found ${describeToken(this.peek())}.`);
  }

  /** Creates an error at the position of a token. */
  error(token: Token, reason: string): FilterError {
    return new FilterError(reason, { text: this.#text, at: token.at });
  }

  /** Goes one level deeper. Throws FilterError if that is too deep for the recursive parser. */
  enter(): void {
    this.#depth += 1;
    if (this.#depth <= FILTER_LIMITS.depth) return;
    throw this.error(
      this.peek(),
      `an expression may be nested ${FILTER_LIMITS.depth} levels deep at most.`,
    );
  }

  /** Goes back up one level. */
  leave(): void {
    this.#depth -= 1;
  }
}
