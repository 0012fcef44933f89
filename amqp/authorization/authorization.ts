import {
  type ComparableAddress,
  checkToken,
  comparableAddress,
  createSasToken,
  isRefused,
  pathsCovering,
  ruleOwnerKey,
  type TokenRefusal,
  type VerifiedToken,
} from '../../shared/auth/sas-token.ts';
import { parseSasToken } from '../../shared/auth/sas-token-text.ts';
import { boundedName, claimedRuleOf, type SigningRule } from '../../shared/auth/signing-rule.ts';
import type { KnownToken } from '../../shared/auth/token-cache.ts';
import { BrokerError, entityNotFound } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { AccessRight } from '../../shared/domain/entities/descriptions.ts';
import { type EntityPath, parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { resultOf } from '../../shared/domain/result-of.ts';
import { addressPath, requireShort, withoutManagementSuffix } from '../service/address.ts';
import type { AmqpDependencies } from '../service/dependencies.ts';
import type { NamespaceBinding } from '../service/namespace-binding.ts';
import { type TokenAccount, TokenStore } from './tokens.ts';

const { refusals: REFUSALS_MAX, refusalsAtOnce, refusalPauseMs } = BUDGETS.connection;
/** A SAS name and key count as a token that outlasts every connection. */
const KEY_MS = 10 * 365 * 24 * 60 * 60 * 1000;
const ANY_RIGHT: readonly AccessRight[] = ['Send', 'Listen', 'Manage'];
/** The signer of tokens that a rule of the namespace has signed. */
const NAMESPACE = '';

/** Stands for the rule of a client that needs none. */
const TRUSTED: SigningRule = { name: 'trusted', entity: undefined };

/** Called with the rule that granted a right. */
export type OnAuthorized = (rule: SigningRule) => void;

/** What an authorization reports to its connection. */
export interface AuthorizationEvents {
  /** The peer has a valid token or key of a known rule. May be called more than once. */
  authorized(): void;
  /** Too many tokens and keys were refused: the connection must be closed. */
  refusedTooOften(): void;
}

/**
 * The rights of one connection: its tokens from `$cbs`, or the key of its SASL PLAIN. Every use is checked
 * again, by the same rules as requests over HTTP, so an expired token or a changed key is refused (semantics W5, K6).
 * A token is parsed once, when it is put, and verified once with each key.
 */
export class Authorization {
  readonly #binding: Pick<NamespaceBinding, 'dependencies' | 'check'>;
  readonly #events: AuthorizationEvents;
  readonly #tokens: TokenStore;
  #key: { readonly keyName: string; readonly key: string } | undefined;
  /** A token signed with the key, once a host is known. */
  #keyText: string | undefined;
  /** That token as a namespace reads it; or why no token can name the key. */
  #keyToken:
    | { readonly from: AmqpDependencies; readonly token: KnownToken | TokenRefusal }
    | undefined;
  #host = 'localhost';
  #claimedRule: string | undefined;
  #refusals = 0;

  /** `binding` chooses the namespace; `account` counts the memory of stored tokens. */
  constructor(
    binding: Pick<NamespaceBinding, 'dependencies' | 'check'>,
    account: TokenAccount,
    events: AuthorizationEvents,
  ) {
    this.#binding = binding;
    this.#tokens = new TokenStore(account);
    this.#events = events;
  }

  /** The rule that the peer's last key or token named, valid or not. */
  get claimedRule(): string | undefined {
    return this.#claimedRule;
  }

  /** Whether the client may do everything. Its tokens are not read then. */
  get isTrusted(): boolean {
    return this.#binding.dependencies.trustsClients === true;
  }

  /** How long to delay the answer to a refused token, ms. The delay slows guessing. */
  get refusalPauseMs(): number {
    return this.#refusals > refusalsAtOnce ? refusalPauseMs : 0;
  }

  /** Sets the host name of the peer's open, which audiences of tokens contain. */
  opened(host: string): void {
    this.#host = host;
    if (this.isTrusted) this.#events.authorized();
    if (this.#key === undefined) return;
    const audience = `sb://${host}/`;
    const expiresAt = this.#binding.dependencies.tokenClock.now() + KEY_MS;
    this.#keyText = createSasToken({ audience, expiresAt, ...this.#key });
  }

  /**
   * Checks a SAS name and key, and keeps them. Returns false only for a wrong key of a rule of the namespace, and for a
   * name that leads to no namespace: a rule of an entity is unknown until a link addresses the entity, and is checked
   * then.
   */
  async offerKey(keyName: string, key: string): Promise<boolean> {
    this.#claimedRule = boundedName(keyName);
    if (this.isTrusted) return true;
    const outcome = await resultOf(
      this.#binding.check(
        () => keyName,
        async (dependencies, prove) => {
          const expiresAt = dependencies.tokenClock.now() + KEY_MS;
          const text = createSasToken({ audience: 'sb://localhost/', keyName, key, expiresAt });
          const token = tokenOrRefusal(() => dependencies.tokens.read(text));
          const rules = await dependencies.namespaceKeys.rules();
          if (isRefused(token) || !rules.some((rule) => rule.keyName === token.token.keyName))
            return true;
          const address = addressAt('localhost', '/');
          const checked = await checkToken(dependencies, token, address, undefined, ANY_RIGHT);
          if (isRefused(checked)) return false;
          this.#proven(prove);
          return true;
        },
      ),
    );
    if ('error' in outcome && !(outcome.error instanceof BrokerError)) throw outcome.error;
    if ('error' in outcome || !outcome.value) return false;
    this.#key = { keyName, key };
    return true;
  }

  /**
   * Stores a token for an address. Throws ArgumentError if the address is too long, Unauthenticated if the
   * token grants no right there, MessagingEntityNotFound with the full address of a missing entity (clients
   * expect it here already), and ServiceBusy if the connection may hold no more memory.
   */
  async putToken(address: string, token: string): Promise<void> {
    requireShort(address);
    const pathname = addressPath(address);
    const path = entityAt(pathname);
    const checked = this.isTrusted ? undefined : await this.#checkPut(token, pathname, path);
    const { entities } = this.#binding.dependencies;
    if (path !== undefined && (await entities.find(path.key)) === undefined) {
      throw entityNotFound(`sb://${this.#host}/${path.name}`);
    }
    if (checked === undefined) return;
    const { known, audiencePath, rule } = checked;
    this.#claimedRule = rule.name;
    this.#tokens.add(known, { audiencePath, signer: rule.entity ?? NAMESPACE, keyName: rule.name });
  }

  /** Checks a token that was put, and counts a refusal. Throws Unauthenticated. */
  async #checkPut(
    token: string,
    pathname: string,
    path: EntityPath | undefined,
  ): Promise<VerifiedToken & { readonly known: KnownToken }> {
    try {
      return await this.#binding.check(
        () => parseSasToken(token).keyName,
        async (dependencies, prove) => {
          const known = dependencies.tokens.read(token);
          const address = addressAt(this.#host, pathname);
          const outcome = await checkToken(dependencies, known, address, path, ANY_RIGHT);
          if (isRefused(outcome)) throw outcome.toError();
          this.#proven(prove);
          return { ...outcome, known };
        },
      );
    } catch (error) {
      this.#claimedRule = claimedRuleOf(token);
      if (error instanceof BrokerError && error.code === 'Unauthenticated') this.#countRefusal();
      throw error;
    }
  }

  /**
   * Requires one of the rights to an entity, and counts an operation of the rule that grants it. `onAuthorized` is
   * called with that rule before it is counted. Throws Unauthenticated if the peer has none of the rights,
   * and ServiceBusy if the rule exceeds its rate limit.
   */
  async require(
    pathname: string,
    path: EntityPath,
    rights: readonly AccessRight[],
    onAuthorized?: OnAuthorized,
  ): Promise<void> {
    const rule = await this.confirm(pathname, path, rights);
    onAuthorized?.(rule);
    await this.#binding.dependencies.requireUpstream?.(path, rights);
    this.#binding.dependencies.countOperation?.(rule);
  }

  /**
   * The same for an operation that continues, which does not count again. Returns the rule that grants the
   * right. Cheap enough for every query for messages: it parses no token, verifies no signature twice, and reads an
   * entity from DynamoDB only when the cached one has expired. Throws Unauthenticated.
   */
  async confirm(
    pathname: string,
    path: EntityPath,
    rights: readonly AccessRight[],
  ): Promise<SigningRule> {
    if (this.isTrusted) return TRUSTED;
    const address = addressAt(this.#host, pathname);
    const keyOutcome = await this.#checkKey(address, path, rights);
    if (keyOutcome !== undefined && !isRefused(keyOutcome)) return keyOutcome.rule;
    // A connection with stored tokens is bound to their namespace.
    const { dependencies } = this.#binding;
    for (const token of this.#tokensFor(pathname, path)) {
      const outcome = await checkToken(dependencies, token, address, path, rights);
      if (isRefused(outcome)) continue;
      this.#events.authorized();
      return outcome.rule;
    }
    // Without a suitable token, the peer relies on its key. A refusal of the key counts only if it has a
    // subcode, that is, if no known rule has this key. A valid key that lacks the right does not count.
    if (keyOutcome?.subCode !== undefined) this.#countRefusal();
    throw new BrokerError(
      'Unauthenticated',
      `Unauthorized access. '${rights.join("' or '")}' claim(s) are required to perform this operation. Resource: 'sb://${this.#host}/${pathname}'.`,
    );
  }

  #tokensFor(pathname: string, path: EntityPath): Iterable<KnownToken> {
    if (this.#tokens.isEmpty) return [];
    return this.#tokens.coveringPaths(pathsCovering(`/${pathname}`), [
      NAMESPACE,
      ruleOwnerKey(path),
    ]);
  }

  #countRefusal(): void {
    this.#refusals++;
    if (this.#refusals >= REFUSALS_MAX) this.#events.refusedTooOften();
  }

  /** Checks the key of SASL PLAIN; undefined if there is none. */
  async #checkKey(
    address: ComparableAddress,
    path: EntityPath | undefined,
    rights: readonly AccessRight[],
  ): Promise<VerifiedToken | TokenRefusal | undefined> {
    const key = this.#key;
    const text = this.#keyText;
    if (key === undefined || text === undefined) return undefined;
    return await this.#binding.check(
      () => key.keyName,
      async (dependencies, prove) => {
        const token = this.#keyTokenFor(dependencies, text);
        if (isRefused(token)) return token;
        const outcome = await checkToken(dependencies, token, address, path, rights);
        if (!isRefused(outcome)) this.#proven(prove);
        return outcome;
      },
    );
  }

  #keyTokenFor(from: AmqpDependencies, text: string): KnownToken | TokenRefusal {
    if (this.#keyToken?.from !== from) {
      this.#keyToken = { from, token: tokenOrRefusal(() => from.tokens.read(text)) };
    }
    return this.#keyToken.token;
  }

  /** The client has a right, which binds the connection to the namespace of the check. */
  #proven(prove: () => void): void {
    prove();
    this.#events.authorized();
  }
}

/** A token that was read, or its refusal: the name of a key may be one that no token can hold. */
function tokenOrRefusal(read: () => KnownToken): KnownToken | TokenRefusal {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    const { subCode } = error;
    return { ...(subCode !== undefined && { subCode }), toError: () => error };
  }
}

function addressAt(host: string, pathname: string): ComparableAddress {
  return comparableAddress({ host, ownHost: host, pathname: `/${pathname}` });
}

/** Returns the entity of an address; undefined if it names none, since a token may cover the namespace. */
function entityAt(pathname: string): EntityPath | undefined {
  try {
    return parseEntityPath(withoutManagementSuffix(pathname));
  } catch (error) {
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}
