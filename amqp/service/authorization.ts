import { countForRule, ruleNameOf } from '../../lambdas/http/rule-name.ts';
import { createSasToken, requireSasTokenFor } from '../../lambdas/http/sas-token.ts';
import { BrokerError, entityNotFound } from '../../shared/domain/broker-error.ts';
import type { AccessRight } from '../../shared/domain/descriptions.ts';
import { type EntityPath, parseEntityPath } from '../../shared/domain/entity-path.ts';
import { addressPath, withoutNode } from './address.ts';
import type { GatewayParts } from './parts.ts';

/** Tokens that one connection may bring; the oldest makes room. */
const TOKENS_MAX = 2000;
/** A name and key stand for a token that outlasts every connection. */
const KEY_MS = 10 * 365 * 24 * 60 * 60 * 1000;
const ANY_RIGHT: readonly AccessRight[] = ['Send', 'Listen', 'Manage'];

/**
 * What one connection may do: the tokens that it has brought over `$cbs`, or the key it has proved
 * at the start. Every use is checked anew, by the same rules as requests over HTTP, so a token that
 * ran out or a key that was changed counts no more.
 */
export class Authorization {
  readonly #parts: GatewayParts;
  readonly #onProven: () => void;
  /** By the address they are for; a new one takes the place of the old. */
  readonly #tokens = new Map<string, string>();
  #key: { readonly keyName: string; readonly key: string } | undefined;
  #host = 'localhost';
  #rule: string | undefined;

  constructor(parts: GatewayParts, onProven: () => void) {
    this.#parts = parts;
    this.#onProven = onProven;
  }

  /** The rule of which a right came that was asked for last. */
  get rule(): string | undefined {
    return this.#rule;
  }

  /** The peer said as whom it knows us. */
  opened(host: string): void {
    this.#host = host;
    if (this.#key === undefined) return;
    const audience = `sb://${host}/`;
    const expiresAt = this.#parts.clock.now() + KEY_MS;
    this.#tokens.set(audience, createSasToken({ audience, expiresAt, ...this.#key }));
  }

  /**
   * Whether a name and key are good. Rules of single entities are not known before one is addressed,
   * so that only a wrong key of a rule of the namespace is refused here.
   */
  async offerKey(keyName: string, key: string): Promise<boolean> {
    const rules = await this.#parts.namespaceKeys.rules();
    if (rules.some((rule) => rule.keyName === keyName)) {
      const expiresAt = this.#parts.clock.now() + KEY_MS;
      const token = createSasToken({ audience: 'sb://localhost/', keyName, key, expiresAt });
      if (!(await this.#isGood(token, 'localhost', '/', undefined, ANY_RIGHT))) return false;
    }
    this.#key = { keyName, key };
    return true;
  }

  /**
   * Takes a token for an address. Throws Unauthenticated where it is good for nothing there, and
   * MessagingEntityNotFound, by its whole address: clients expect to hear of it here already.
   */
  async bring(address: string, token: string): Promise<void> {
    const pathname = addressPath(address);
    const path = entityAt(pathname);
    await this.#check(token, this.#host, pathname, path, ANY_RIGHT);
    if (path !== undefined && (await this.#parts.entities.find(path.key)) === undefined) {
      throw entityNotFound(`sb://${this.#host}/${path.name}`);
    }
    this.#tokens.delete(address);
    this.#tokens.set(address, token);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > TOKENS_MAX && oldest !== undefined) this.#tokens.delete(oldest);
  }

  /**
   * Throws Unauthenticated unless one of these rights is there for what an address names, and
   * ServiceBusy where the rule that it comes of may do no more for now.
   */
  async require(pathname: string, path: EntityPath, rights: readonly AccessRight[]): Promise<void> {
    for (const token of this.#tokens.values()) {
      if (await this.#isGood(token, this.#host, pathname, path, rights)) {
        this.#rule = ruleNameOf(token);
        await countForRule(this.#parts, token, path);
        return;
      }
    }
    throw new BrokerError(
      'Unauthenticated',
      `Unauthorized access. '${rights.join("' or '")}' claim(s) are required to perform this operation. Resource: 'sb://${this.#host}/${pathname}'.`,
    );
  }

  async #isGood(
    token: string,
    host: string,
    pathname: string,
    path: EntityPath | undefined,
    rights: readonly AccessRight[],
  ): Promise<boolean> {
    try {
      await this.#check(token, host, pathname, path, rights);
      return true;
    } catch (error) {
      // That a rule could not be looked up says nothing about the token.
      if (error instanceof BrokerError && error.code === 'Unauthenticated') return false;
      throw error;
    }
  }

  async #check(
    token: string,
    host: string,
    pathname: string,
    path: EntityPath | undefined,
    rights: readonly AccessRight[],
  ): Promise<void> {
    const resource = { host, ownHost: host, pathname: `/${pathname}` };
    await requireSasTokenFor(this.#parts, token, resource, path, rights);
    this.#onProven();
  }
}

/** The entity that an address is about, if any: a token may be for the whole namespace. */
function entityAt(pathname: string): EntityPath | undefined {
  try {
    return parseEntityPath(withoutNode(pathname));
  } catch (error) {
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}
