import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';

const { tokens: TOKENS_MAX, tokenBytes: BYTES_MAX } = BUDGETS.connection;

/** What a token is kept by: it takes the place of an earlier one that is for the same. */
export interface TokenScope {
  /** The path that it is good for, with everything below it. */
  readonly audiencePath: string;
  /** The entity whose rule has signed it; empty where that was one of the namespace. */
  readonly signer: string;
  readonly keyName: string;
}

/** Counts the bytes that a connection holds. */
export interface TokenAccount {
  /** False where there is no room for so many more. */
  tryHold(bytes: number): boolean;
  release(bytes: number): void;
}

/** The tokens of one connection, found by the path for which a right is wanted. */
export class TokenStore {
  /** By path and signer, then by the name of the key. What was renewed longest ago comes first. */
  readonly #scopes = new Map<string, Map<string, string>>();
  readonly #account: TokenAccount;
  #count = 0;
  #bytes = 0;

  constructor(account: TokenAccount) {
    this.#account = account;
  }

  /**
   * Keeps a token. Where there are too many, the one that was put longest ago makes room. Throws
   * ServiceBusy where the connection may hold no more.
   */
  add(token: string, { audiencePath, signer, keyName }: TokenScope): void {
    const key = scopeKey(audiencePath, signer);
    const bytes = bytesOf(key, keyName, token);
    if (!this.#account.tryHold(bytes)) throw memoryExceeded();
    const tokens = this.#scopes.get(key) ?? new Map<string, string>();
    this.#remove(key, tokens, keyName);
    this.#scopes.delete(key);
    this.#scopes.set(key, tokens.set(keyName, token));
    this.#count++;
    this.#bytes += bytes;
    while (this.#count > TOKENS_MAX || this.#bytes > BYTES_MAX) this.#removeOldest();
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** The tokens that are good for one of these paths, by a rule of one of these signers. */
  *coveringPaths(audiencePaths: readonly string[], signers: readonly string[]): Iterable<string> {
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

  #remove(key: string, tokens: Map<string, string>, keyName: string): void {
    const token = tokens.get(keyName);
    if (token === undefined) return;
    tokens.delete(keyName);
    const bytes = bytesOf(key, keyName, token);
    this.#count--;
    this.#bytes -= bytes;
    this.#account.release(bytes);
  }
}

/** Neither holds a line break: names of entities have none, and paths that hold one match no address. */
const scopeKey = (audiencePath: string, signer: string): string => `${signer}\n${audiencePath}`;

const memoryExceeded = () =>
  new BrokerError(
    'ServiceBusy',
    'The connection holds as much as it may. Wait until it holds less, and send the token again.',
  );

const bytesOf = (...texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + text.length, 0);
