import type { AgeClock, Instant } from '../domain/age.ts';
import { BoundedMap } from '../domain/bounded-map.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import type { Entity } from '../domain/entities/entity.ts';
import { isSignedWith, parseSasToken, type SasToken } from './sas-token-text.ts';

/** A token that a rule has signed, and for each key that was tried whether it has signed the token. */
interface SignedToken {
  readonly token: SasToken;
  readonly keys: BoundedMap<string, boolean>;
}

/** Cached keys for each token; a token is tried with the keys of the rules that have the name in it. */
const KEYS_MAX = 8;
/** The size of an entry in addition to the texts of its token, bytes. */
const ENTRY_BYTES = 1024;
/** An entry has the text of its token, and parts of it. */
const COPIES = 3;

/**
 * Caches which keys have signed which tokens, and for a short time which entities do not exist. Only tokens
 * that a key has signed are cached, so that forged tokens evict nothing. The cache is by the key's text, so
 * that a changed key no longer counts (semantics K6).
 */
export class TokenCache {
  /** By text of the token, the least recently used first. */
  readonly #cached = new Map<string, SignedToken>();
  readonly #missing = new BoundedMap<string, Instant>(BUDGETS.tokens.missing);
  readonly #ages: AgeClock;
  readonly #isSignedWith: typeof isSignedWith;
  #cachedBytes = 0;
  #changes = 0;

  /** `check` computes a signature, which the cache avoids. */
  constructor(ages: AgeClock, check: typeof isSignedWith = isSignedWith) {
    this.#ages = ages;
    this.#isSignedWith = check;
  }

  /** The parsed token of a text. Throws Unauthenticated as `parseSasToken` does. */
  read(text: string): SasToken {
    return this.#cached.get(text)?.token ?? parseSasToken(text);
  }

  /** Whether a token is signed with a key. */
  isSigned(token: SasToken, key: string): boolean {
    const cached = this.#cached.get(token.text);
    const known = cached?.keys.get(key);
    const isSigned = known ?? this.#isSignedWith(token, key);
    if (cached === undefined && !isSigned) return false;
    const keys = cached?.keys ?? new BoundedMap<string, boolean>(KEYS_MAX);
    if (known === undefined) keys.set(key, isSigned);
    this.#used({ token, keys });
    return isSigned;
  }

  #used(cached: SignedToken): void {
    const { text } = cached.token;
    if (!this.#cached.delete(text)) this.#cachedBytes += bytesOf(text);
    this.#cached.set(text, cached);
    for (const oldest of this.#cached.keys()) {
      if (this.#cachedBytes <= BUDGETS.tokens.cacheBytes) break;
      this.#cached.delete(oldest);
      this.#cachedBytes -= bytesOf(oldest);
    }
  }

  /**
   * Looks up an entity for a token that no rule of the namespace has signed. That the entity does not exist
   * is cached for `BUDGETS.tokens.missKeptMs`. Use it for no other token: the cache would hide a new entity.
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
    // After a change in the meantime the entity may exist now, so its absence is not cached.
    if (entity === undefined && changes === this.#changes) this.#missing.set(key, since);
    return entity;
  }

  /** Tells the cache that this process has created or changed an entity. */
  changed(key: string): void {
    this.#changes++;
    this.#missing.delete(key);
  }
}

const bytesOf = (text: string): number => COPIES * text.length + ENTRY_BYTES;
