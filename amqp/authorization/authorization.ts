import { boundedName, claimedRuleOf, type ProvedRule } from '../../shared/auth/proved-rule.ts';
import {
  createSasToken,
  keyOfRules,
  pathsCovering,
  requireSasTokenFor,
  type TokenProof,
} from '../../shared/auth/sas-token.ts';
import { BrokerError, entityNotFound } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { AccessRight } from '../../shared/domain/entities/descriptions.ts';
import { type EntityPath, parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { addressPath, requireShort, withoutManagementSuffix } from '../service/address.ts';
import type { GatewayDependencies } from '../service/dependencies.ts';
import { type TokenAccount, TokenStore } from './tokens.ts';

const { refusals: REFUSALS_MAX, refusalsAtOnce, refusalPauseMs } = BUDGETS.connection;
/** A name and key stand for a token that outlasts every connection. */
const KEY_MS = 10 * 365 * 24 * 60 * 60 * 1000;
const ANY_RIGHT: readonly AccessRight[] = ['Send', 'Listen', 'Manage'];
/** Rules of the namespace, as the signer of a token. */
const NAMESPACE = '';

/** Is told which rule gave a right. */
export type RuleProved = (rule: ProvedRule) => void;

/** What a connection is told about its peer. */
export interface AuthorizationEvents {
  /** A known rule has signed a token, or has the key, of this peer; may be told more than once. */
  proved(): void;
  /** So many tokens and keys were refused that the connection is to be closed. */
  refusedTooOften(): void;
}

/**
 * What one connection may do: the tokens that it has put over `$cbs`, or the key it has proved
 * at the start. Every use is checked anew, by the same rules as requests over HTTP, so a token that
 * ran out or a key that was changed counts no more.
 */
export class Authorization {
  readonly #dependencies: GatewayDependencies;
  readonly #events: AuthorizationEvents;
  readonly #tokens: TokenStore;
  #key: { readonly keyName: string; readonly key: string } | undefined;
  /** The token that the key stands for. */
  #keyToken: string | undefined;
  #host = 'localhost';
  #claimedRule: string | undefined;
  #refusals = 0;

  /** `account` counts what is kept of tokens. */
  constructor(
    dependencies: GatewayDependencies,
    account: TokenAccount,
    events: AuthorizationEvents,
  ) {
    this.#dependencies = dependencies;
    this.#tokens = new TokenStore(account);
    this.#events = events;
  }

  /** The rule that the peer named last, by a key or token; whether it has proved anything by that or not. */
  get claimedRule(): string | undefined {
    return this.#claimedRule;
  }

  /** How long the answer to a token that was refused is held back, ms: those who guess are slowed. */
  get refusalPauseMs(): number {
    return this.#refusals > refusalsAtOnce ? refusalPauseMs : 0;
  }

  /** The peer said as whom it knows us. */
  opened(host: string): void {
    this.#host = host;
    if (this.#key === undefined) return;
    const audience = `sb://${host}/`;
    const expiresAt = this.#dependencies.tokenClock.now() + KEY_MS;
    this.#keyToken = createSasToken({ audience, expiresAt, ...this.#key });
  }

  /**
   * Whether a name and key are good. Rules of single entities are not known before one is addressed,
   * so that only a wrong key of a rule of the namespace is refused here.
   */
  async offerKey(keyName: string, key: string): Promise<boolean> {
    this.#claimedRule = boundedName(keyName);
    const rules = await this.#dependencies.namespaceKeys.rules();
    if (rules.some((rule) => rule.keyName === keyName)) {
      const expiresAt = this.#dependencies.tokenClock.now() + KEY_MS;
      const token = createSasToken({ audience: 'sb://localhost/', keyName, key, expiresAt });
      const outcome = await this.#tryToken(token, 'localhost', '/', undefined, ANY_RIGHT);
      if ('refusal' in outcome) return false;
    }
    this.#key = { keyName, key };
    return true;
  }

  /**
   * Takes a token for an address. Throws Unauthenticated where it is good for nothing there, and
   * MessagingEntityNotFound, by its whole address: clients expect to hear of it here already; and
   * ServiceBusy where the connection may hold no more.
   */
  async putToken(address: string, token: string): Promise<void> {
    requireShort(address);
    const pathname = addressPath(address);
    const path = entityAt(pathname);
    const proof = await this.#checkPut(token, pathname, path);
    if (path !== undefined && (await this.#dependencies.entities.find(path.key)) === undefined) {
      throw entityNotFound(`sb://${this.#host}/${path.name}`);
    }
    const { audiencePath, rule } = proof;
    this.#claimedRule = rule.name;
    this.#tokens.add(token, {
      audiencePath,
      signer: rule.entity ?? NAMESPACE,
      keyName: rule.name,
    });
  }

  /** What a token that was put is good for; counts it where it is not good. Throws Unauthenticated. */
  async #checkPut(
    token: string,
    pathname: string,
    path: EntityPath | undefined,
  ): Promise<TokenProof> {
    try {
      return await this.#check(token, this.#host, pathname, path, ANY_RIGHT);
    } catch (error) {
      this.#claimedRule = claimedRuleOf(token);
      if (error instanceof BrokerError && error.code === 'Unauthenticated') this.#countRefusal();
      throw error;
    }
  }

  /**
   * Throws Unauthenticated unless one of these rights is there for what an address names, and ServiceBusy
   * where the rule that the right comes of may do no more for now. `proved` is told the rule before.
   */
  async require(
    pathname: string,
    path: EntityPath,
    rights: readonly AccessRight[],
    proved?: RuleProved,
  ): Promise<void> {
    const rule = await this.confirm(pathname, path, rights);
    proved?.(rule);
    this.#dependencies.admitRule?.(rule);
  }

  /**
   * The same for an operation that goes on, and counts no more for its rule; the rule that gives the
   * right comes back. Cheap enough to be asked before each look for messages: it computes no signature
   * twice, and reads an entity at most once in the time for which entities are kept anyway.
   */
  async confirm(
    pathname: string,
    path: EntityPath,
    rights: readonly AccessRight[],
  ): Promise<ProvedRule> {
    const tryToken = (token: string) => this.#tryToken(token, this.#host, pathname, path, rights);
    const keyOutcome = this.#keyToken === undefined ? undefined : await tryToken(this.#keyToken);
    if (keyOutcome !== undefined && 'rule' in keyOutcome) return keyOutcome.rule;
    for (const token of this.#tokensFor(pathname, path)) {
      const outcome = await tryToken(token);
      if ('rule' in outcome) return outcome.rule;
    }
    // All that this peer does rests on its key, unless it has brought tokens that are good for this.
    // Only what no known rule has signed has a subcode: one that lacks the right was proved all the same.
    if (keyOutcome?.refusal.subCode !== undefined) this.#countRefusal();
    throw new BrokerError(
      'Unauthenticated',
      `Unauthorized access. '${rights.join("' or '")}' claim(s) are required to perform this operation. Resource: 'sb://${this.#host}/${pathname}'.`,
    );
  }

  #tokensFor(pathname: string, path: EntityPath): Iterable<string> {
    if (this.#tokens.isEmpty) return [];
    return this.#tokens.coveringPaths(pathsCovering(`/${pathname}`), [NAMESPACE, keyOfRules(path)]);
  }

  #countRefusal(): void {
    this.#refusals++;
    if (this.#refusals >= REFUSALS_MAX) this.#events.refusedTooOften();
  }

  async #tryToken(
    token: string,
    host: string,
    pathname: string,
    path: EntityPath | undefined,
    rights: readonly AccessRight[],
  ): Promise<TokenProof | { readonly refusal: BrokerError }> {
    try {
      return await this.#check(token, host, pathname, path, rights);
    } catch (error) {
      // That a rule could not be looked up says nothing about the token.
      if (error instanceof BrokerError && error.code === 'Unauthenticated')
        return { refusal: error };
      throw error;
    }
  }

  async #check(
    token: string,
    host: string,
    pathname: string,
    path: EntityPath | undefined,
    rights: readonly AccessRight[],
  ): Promise<TokenProof> {
    const resource = { host, ownHost: host, pathname: `/${pathname}` };
    const proof = await requireSasTokenFor(this.#dependencies, token, resource, path, rights);
    this.#events.proved();
    return proof;
  }
}

/** The entity that an address is about, if any: a token may be for the whole namespace. */
function entityAt(pathname: string): EntityPath | undefined {
  try {
    return parseEntityPath(withoutManagementSuffix(pathname));
  } catch (error) {
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}
