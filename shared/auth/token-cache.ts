import type { AgeClock, Instant } from '../domain/age.ts';
import { BoundedMap } from '../domain/bounded-map.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import type { Entity } from '../domain/entities/entity.ts';
import { isSignedWith, parseSasToken, type SasToken } from './sas-token-text.ts';

/** A parsed token, and for each key that was tried whether it has signed the token. */
export interface KnownToken {
  readonly token: SasToken;
  readonly keys: BoundedMap<string, boolean>;
}

/** Keys remembered for each token; a token is tried with the keys of the rules that have the name in it. */
const KEYS_MAX = 8;
/** The size of a known token in addition to the texts of it, bytes. */
const KNOWN_BYTES = 1024;
/** A known token has its text, and parts of it. */
const COPIES = 3;

/**
 * Caches which keys have signed which tokens, and for a short time which entities do not exist. Only tokens
 * that a key has signed are cached, so that forged tokens evict nothing. The cache is by the key's text, so
 * that a changed key no longer counts (semantics K6). A connection may keep what `read` returned, which is then neither
 * parsed nor verified again, whatever the cache has forgotten.
 */
export class TokenCache {
  /** By text of the token, the least recently used first. */
  readonly #cached = new Map<string, KnownToken>();
  readonly #missing = new BoundedMap<string, Instant>(BUDGETS.tokens.missing);
  readonly #ages: AgeClock;
  readonly #isSignedWith: typeof isSignedWith;
  readonly #parse: typeof parseSasToken;
  #cachedBytes = 0;
  #changes = 0;

  /** `check` computes a signature and `parse` parses a text, which the cache avoids. */
  constructor(
    ages: AgeClock,
    check: typeof isSignedWith = isSignedWith,
    parse: typeof parseSasToken = parseSasToken,
  ) {
    this.#ages = ages;
    this.#isSignedWith = check;
    this.#parse = parse;
  }

  /** The parsed token of a text. Throws Unauthenticated as `parseSasToken` does. */
  read(text: string): KnownToken {
    const cached = this.#cached.get(text);
    if (cached === undefined) return { token: this.#parse(text), keys: new BoundedMap(KEYS_MAX) };
    this.#used(cached);
    return cached;
  }

  /** Whether a token is signed with a key. */
  isSigned(known: KnownToken, key: string): boolean {
    const before = known.keys.get(key);
    if (before !== undefined) return before;
    const isSigned = this.#isSignedWith(known.token, key);
    known.keys.set(key, isSigned);
    if (isSigned) this.#used(known);
    return isSigned;
  }

  #used(known: KnownToken): void {
    const { text } = known.token;
    if (!this.#cached.delete(text)) this.#cachedBytes += heldBytes(text);
    this.#cached.set(text, known);
    for (const oldest of this.#cached.keys()) {
      if (this.#cachedBytes <= BUDGETS.tokens.cacheBytes) break;
      this.#cached.delete(oldest);
      this.#cachedBytes -= heldBytes(oldest);
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

/** The memory that a known token with this text takes, bytes. */
export const heldBytes = (text: string): number => COPIES * text.length + KNOWN_BYTES;
