import { heldBytes, type KnownToken } from '../../shared/auth/token-cache.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { connectionMemoryExceeded } from '../service/error-mapping.ts';

const { tokens: TOKENS_MAX, tokenBytes: BYTES_MAX } = BUDGETS.connection;

/** The key of a stored token: a new token replaces an earlier one with the same scope. */
export interface TokenScope {
  /** The path that the token covers, with everything below it. */
  readonly audiencePath: string;
  /** The entity whose rule signed it; empty for a rule of the namespace. */
  readonly signer: string;
  readonly keyName: string;
}

/** Counts the bytes that a connection holds. */
export interface TokenAccount {
  /** Returns false if the connection may not hold that many more. */
  tryHold(bytes: number): boolean;
  release(bytes: number): void;
}

/** The tokens of one connection, found by the path to which a right is required. */
export class TokenStore {
  /** Tokens by path and signer, then by key name; the scope that was renewed longest ago comes first. */
  readonly #scopes = new Map<string, Map<string, KnownToken>>();
  readonly #account: TokenAccount;
  #count = 0;
  #bytes = 0;

  constructor(account: TokenAccount) {
    this.#account = account;
  }

  /**
   * Stores a token, and removes the oldest ones if there are too many. Throws ServiceBusy if the connection
   * may hold no more memory.
   */
  add(known: KnownToken, { audiencePath, signer, keyName }: TokenScope): void {
    const key = scopeKey(audiencePath, signer);
    const { text } = known.token;
    if (!this.#account.tryHold(memoryOf(key, keyName, text))) throw connectionMemoryExceeded();
    const tokens = this.#scopes.get(key) ?? new Map<string, KnownToken>();
    this.#remove(key, tokens, keyName);
    this.#scopes.delete(key);
    this.#scopes.set(key, tokens.set(keyName, known));
    this.#count++;
    this.#bytes += bytesOf(key, keyName, text);
    while (this.#count > TOKENS_MAX || this.#bytes > BYTES_MAX) this.#removeOldest();
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Yields the tokens that cover one of these paths, signed by a rule of one of these signers. */
  *coveringPaths(
    audiencePaths: readonly string[],
    signers: readonly string[],
  ): Iterable<KnownToken> {
    for (const audiencePath of audiencePaths) {
      for (const signer of signers) {
        yield* this.#scopes.get(scopeKey(audiencePath, signer))?.values() ?? [];
      }
    }
  }

  #removeOldest(): void {
    const [[key, tokens] = []] = this.#scopes;
    const [keyName] = tokens?.keys() ?? [];
    if (key === undefined || tokens === undefined || keyName === undefined) return;
    this.#remove(key, tokens, keyName);
    if (tokens.size === 0) this.#scopes.delete(key);
  }

  #remove(key: string, tokens: Map<string, KnownToken>, keyName: string): void {
    const known = tokens.get(keyName);
    if (known === undefined) return;
    tokens.delete(keyName);
    const { text } = known.token;
    this.#count--;
    this.#bytes -= bytesOf(key, keyName, text);
    this.#account.release(memoryOf(key, keyName, text));
  }
}

/** A line break separates the two: entity names contain none, and a path with one matches no address. */
const scopeKey = (audiencePath: string, signer: string): string => `${signer}\n${audiencePath}`;

/** A character counts as one byte: V8 stores Latin-1 text so, and other text, with two, is rare in tokens. */
const bytesOf = (...texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + text.length, 0);

/** The memory that a stored token takes, bytes. */
const memoryOf = (key: string, keyName: string, text: string): number =>
  bytesOf(key, keyName) + heldBytes(text);
