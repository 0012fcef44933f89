import type { AgeClock, Instant } from '../domain/age.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import type { Entity } from '../domain/entities/entity.ts';
import { isSignedWith, parseSasToken, type SasToken } from './sas-token-text.ts';

/** A token that some rule has signed, and of each key that was tried whether it has. */
interface Proven {
  readonly token: SasToken;
  readonly keys: Map<string, boolean>;
}

/** Keys that are remembered for one token; it is tried with those of rules that have its name. */
const KEYS_MAX = 8;
/** What an entry takes beside the texts of its token, bytes. */
const ENTRY_BYTES = 1024;
/** The text, and its parts. */
const COPIES = 3;

/**
 * What a process remembers of tokens: which keys have signed which, and for a moment which entities
 * do not exist. Only what a key has signed is remembered, so that made-up tokens push out nothing; and
 * by the key's text, so that a key that was changed counts no more.
 */
export class TokenMemory {
  /** By their texts; the one that was not used for longest comes first. */
  readonly #proven = new Map<string, Proven>();
  readonly #missing = new Map<string, Instant>();
  readonly #ages: AgeClock;
  readonly #isSignedWith: typeof isSignedWith;
  #provenBytes = 0;
  #changes = 0;

  /** `check` computes a signature, which is what this is here to save. */
  constructor(ages: AgeClock, check: typeof isSignedWith = isSignedWith) {
    this.#ages = ages;
    this.#isSignedWith = check;
  }

  /** The token in a text. Throws Unauthenticated. */
  read(text: string): SasToken {
    return this.#proven.get(text)?.token ?? parseSasToken(text);
  }

  /** Whether a key has signed a token. */
  isSigned(token: SasToken, key: string): boolean {
    const proven = this.#proven.get(token.text);
    const known = proven?.keys.get(key);
    const isSigned = known ?? this.#isSignedWith(token, key);
    if (proven === undefined && !isSigned) return false;
    const keys = proven?.keys ?? new Map<string, boolean>();
    if (known === undefined) {
      if (keys.size >= KEYS_MAX) keys.clear();
      keys.set(key, isSigned);
    }
    this.#used({ token, keys });
    return isSigned;
  }

  #used(proven: Proven): void {
    const { text } = proven.token;
    if (!this.#proven.delete(text)) this.#provenBytes += bytesOf(text);
    this.#proven.set(text, proven);
    for (const oldest of this.#proven.keys()) {
      if (this.#provenBytes <= BUDGETS.tokens.provenBytes) break;
      this.#proven.delete(oldest);
      this.#provenBytes -= bytesOf(oldest);
    }
  }

  /**
   * An entity by its key, for a token that no rule of the namespace has signed: that it is missing is
   * believed for a moment. For every other token it is read, so that nothing hides a new entity.
   */
  async find(
    key: string,
    find: (key: string) => Promise<Entity | undefined>,
  ): Promise<Entity | undefined> {
    const missedAt = this.#missing.get(key);
    if (missedAt !== undefined && this.#ages.since(missedAt) < BUDGETS.tokens.missKeptMs) {
      return undefined;
    }
    const since = this.#ages.now();
    const changes = this.#changes;
    const entity = await find(key);
    // Something was created meanwhile, perhaps this.
    if (entity === undefined && changes === this.#changes) this.#miss(key, since);
    return entity;
  }

  #miss(key: string, since: Instant): void {
    this.#missing.delete(key);
    this.#missing.set(key, since);
    const [oldest] = this.#missing.keys();
    if (this.#missing.size > BUDGETS.tokens.missing && oldest !== undefined) {
      this.#missing.delete(oldest);
    }
  }

  /** An entity was created or changed by this process. */
  changed(key: string): void {
    this.#changes++;
    this.#missing.delete(key);
  }
}

const bytesOf = (text: string): number => COPIES * text.length + ENTRY_BYTES;
