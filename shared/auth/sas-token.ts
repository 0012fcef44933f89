import type { EntityStore } from '../broker/ports/entities.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { Clock } from '../domain/clock.ts';
import type { AccessRight, AuthorizationRule } from '../domain/entities/descriptions.ts';
import { type EntityPath, parseEntityPath } from '../domain/entities/entity-path.ts';
import type { NamespaceKeys } from './namespace-keys.ts';
import { comparablePath, type SasToken, splitAddress, tokenRefusal } from './sas-token-text.ts';
import type { SigningRule } from './signing-rule.ts';
import type { KnownToken, TokenCache } from './token-cache.ts';

export { createSasToken } from './create-sas-token.ts';

/** The dependencies of checks of shared access signatures (semantics #151, K3, K4). */
export interface AuthDependencies {
  readonly entities: Pick<EntityStore, 'find'>;
  /** The rules of entities are not known here, so no entity is looked up for them. */
  readonly knowsNoEntityRules?: true;
  readonly namespaceKeys: NamespaceKeys;
  /** Decides whether tokens have expired: the machine's clock, even if users move the broker's clock. */
  readonly tokenClock: Clock;
  readonly tokens: TokenCache;
}

/** Local host names. A token for one of them is valid for the others. */
const LOCAL_HOST = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0)$/;

/** The address that a request or link wants to use. */
export interface Resource {
  /** The host as the client named it. */
  readonly host: string;
  /** The host as the service knows it; behind a gateway, the gateway's. */
  readonly ownHost: string;
  readonly pathname: string;
}

/** The result of the check of a valid token. */
export interface VerifiedToken {
  /** The path for which the token is valid, with everything below it; see `pathsCovering`. */
  readonly audiencePath: string;
  /** The rule that has signed the token. Use it to identify the client; the name in a token is not signed. */
  readonly rule: SigningRule;
}

/** Rules whose key has signed a token. */
interface Signers {
  readonly rules: readonly AuthorizationRule[];
  /** The key of the entity that has the rules; undefined for rules of the namespace. */
  readonly entity: string | undefined;
}

/** For an entity that does not exist, so that its absence is refused like a wrong signature (semantics K9). */
const NO_SIGNERS: Signers = { rules: [], entity: undefined };

/**
 * Checks the token of a request: it must be valid and signed by a rule with one of the `rights`. `path` is
 * the entity that the request addresses; without it only the rules of the namespace count. Reads the entity,
 * unless a rule of the namespace has signed the token. Throws Unauthenticated with subcode 40102 to 40106;
 * without subcode if the rule has none of the rights.
 */
export async function requireSasToken(
  dependencies: AuthDependencies,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<VerifiedToken> {
  const known = dependencies.tokens.read(authorizationOf(request));
  const address = comparableAddress(resourceOf(request));
  return orThrow(await checkToken(dependencies, known, address, path, rights));
}

/** Why a token is refused; an error costs more than the check, so it is created only if it is needed. */
export interface TokenRefusal {
  /** Absent if a rule has signed the token, but has none of the rights. */
  readonly subCode?: string;
  /** The refusal as an Unauthenticated. */
  toError(): BrokerError;
}

/** Whether an outcome is a refusal. */
export function isRefused(outcome: object): outcome is TokenRefusal {
  return 'toError' in outcome;
}

/**
 * Checks a parsed token, as `requireSasToken` does. Compares only; it computes a signature for a key that this token
 * was not tried with yet. Returns a refusal; rethrows what a read of the rules throws.
 */
export async function checkToken(
  dependencies: AuthDependencies,
  known: KnownToken,
  address: ComparableAddress,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<VerifiedToken | TokenRefusal> {
  const { token } = known;
  const refusal =
    expiryRefusal(token, dependencies.tokenClock.now()) ?? audienceRefusal(token, address);
  if (refusal !== undefined) return refusal;
  const signers = (await signersOf(dependencies, known, path)) ?? NO_SIGNERS;
  const rule = withRights(signers, rights);
  if (rule !== undefined) return { audiencePath: token.audiencePath, rule };
  return signers.rules.length === 0 ? INVALID_SIGNATURE : rightsRefusal(address.text, rights);
}

/**
 * The audience paths of all tokens that are valid for an address: the address's own path, and all above it.
 */
export function pathsCovering(pathname: string): readonly string[] {
  const paths = [comparablePath(pathname)];
  for (let path = paths[0] ?? ''; path !== ''; ) {
    path = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    paths.push(path);
  }
  return paths;
}

/** The first rule with one of the rights. */
function withRights(
  { rules, entity }: Signers,
  rights: readonly AccessRight[],
): SigningRule | undefined {
  const rule = rules.find((one) => rights.some((right) => one.rights.includes(right)));
  return rule && { name: rule.keyName, entity };
}

function orThrow(outcome: VerifiedToken | TokenRefusal): VerifiedToken {
  if (isRefused(outcome)) throw outcome.toError();
  return outcome;
}

/**
 * Checks a token before it is known which entities its request uses. Returns the rule if a rule of the
 * namespace, or of the entity in the token's audience, has signed the token and has one of the `rights`.
 * Returns undefined if the audience is no existing entity, for instance the whole namespace: a rule of any
 * entity may have signed the token, or none. Throws Unauthenticated if the token cannot be valid for one of
 * the rights on any entity.
 */
export async function requireLikelyToken(
  dependencies: AuthDependencies,
  request: Request,
  rights: readonly AccessRight[],
): Promise<SigningRule | undefined> {
  const known = dependencies.tokens.read(authorizationOf(request));
  const { token } = known;
  const refusal = expiryRefusal(token, dependencies.tokenClock.now());
  if (refusal !== undefined) throw refusal.toError();
  const signers = await signersOf(dependencies, known, entityNamedBy(token.audiencePath));
  if (signers === undefined) return undefined;
  const rule = withRights(signers, rights);
  if (rule !== undefined) return rule;
  if (signers.rules.length === 0) throw INVALID_SIGNATURE.toError();
  throw rightsRefusal(resourceText(resourceOf(request)), rights).toError();
}

function entityNamedBy(audiencePath: string): EntityPath | undefined {
  if (audiencePath === '') return undefined;
  try {
    return parseEntityPath(audiencePath);
  } catch (error) {
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}

function expiryRefusal({ expiresAt }: SasToken, now: number): TokenRefusal | undefined {
  if (expiresAt > now) return undefined;
  return refusal('40106', () => {
    const time = new Date(expiresAt).toISOString();
    return `ExpiredToken: The token is expired. Expiration time: '${time}'.`;
  });
}

/** The parts of a resource that audiences are compared with, so that many tokens can be compared with one resource. */
export interface ComparableAddress {
  readonly host: string;
  /** Whether it is a local name by which a local service is reached. */
  readonly isLocal: boolean;
  readonly path: string;
  /** For sentences of refusals. */
  readonly text: string;
}

/** What audiences are compared with for a resource. */
export function comparableAddress(resource: Resource): ComparableAddress {
  const [host] = splitAddress(resource.host);
  return {
    host,
    isLocal: LOCAL_HOST.test(host) && LOCAL_HOST.test(splitAddress(resource.ownHost)[0]),
    path: `${comparablePath(resource.pathname)}/`,
    text: resourceText(resource),
  };
}

/**
 * The audience must be the request's address, or an address above it (semantics #152, K2). The host must be the one
 * that the client used; if that is a local name, any local name is accepted, since users reach a local service by
 * several names. Scheme, port, query and case are ignored. A refusal has the subcode 40104.
 */
function audienceRefusal(
  { audience, audienceHost, audiencePath }: SasToken,
  { host, isLocal, path, text }: ComparableAddress,
): TokenRefusal | undefined {
  const hostFits = LOCAL_HOST.test(audienceHost) ? isLocal : audienceHost === host;
  const pathFits = path.startsWith(audiencePath) && path[audiencePath.length] === '/';
  if (hostFits && pathFits) return undefined;
  const sentence = () =>
    `InvalidAudience: The token is for '${audience.slice(0, 300)}', which does not cover '${text}'.`;
  return refusal('40104', sentence);
}

/**
 * The rules whose key has signed the token: of the namespace, or else of the entity; undefined if the entity
 * does not exist. Entity and namespace may have rules of the same name, so both are tried. To save reads, the
 * entity is looked up only if no rule of the namespace has signed the token, and the namespace's keys are
 * read again only if no rule of the entity has signed it either.
 */
async function signersOf(
  dependencies: AuthDependencies,
  known: KnownToken,
  path: EntityPath | undefined,
): Promise<Signers | undefined> {
  const { namespaceKeys, tokens } = dependencies;
  const rules = await namespaceKeys.rules();
  const ofNamespace = signersAmong(rules, tokens, known);
  if (ofNamespace.length > 0) return { rules: ofNamespace, entity: undefined };
  const ofEntity = path && (await signersOfEntity(dependencies, known, path));
  if (ofEntity !== undefined && ofEntity.rules.length > 0) return ofEntity;
  if (!rules.some(({ keyName }) => keyName === known.token.keyName)) return ofEntity;
  const changed = (await namespaceKeys.changedFrom?.(rules)) ?? [];
  const ofChanged = signersAmong(changed, tokens, known);
  return ofChanged.length > 0 ? { rules: ofChanged, entity: undefined } : ofEntity;
}

/** The rules of an entity whose key has signed the token; undefined if the entity does not exist. */
async function signersOfEntity(
  { entities, tokens, knowsNoEntityRules }: AuthDependencies,
  known: KnownToken,
  path: EntityPath,
): Promise<Signers | undefined> {
  if (knowsNoEntityRules) return undefined;
  const entityKey = ruleOwnerKey(path);
  const entity = await tokens.find(entityKey, (key) => entities.find(key));
  if (entity === undefined) return undefined;
  const { description } = entity;
  const rules = description.kind === 'subscription' ? [] : description.authorizationRules;
  return { rules: signersAmong(rules, tokens, known), entity: entityKey };
}

/**
 * The key of the entity whose rules apply to a path. For a subscription it is the topic's, since it has no
 * rules.
 */
export function ruleOwnerKey({ key, subscription }: EntityPath): string {
  return subscription?.topic.toLowerCase() ?? key;
}

/** The rules with a present key that has signed the token. So a changed or removed key ends it (semantics K6). */
function signersAmong(
  rules: readonly AuthorizationRule[],
  tokens: AuthDependencies['tokens'],
  known: KnownToken,
): readonly AuthorizationRule[] {
  return rules.filter(
    ({ keyName, primaryKey, secondaryKey }) =>
      keyName === known.token.keyName &&
      (tokens.isSigned(known, primaryKey) || tokens.isSigned(known, secondaryKey)),
  );
}

const authorizationOf = (request: Request): string => request.headers.get('authorization') ?? '';

function resourceOf(request: Request): Resource {
  const { host: ownHost, pathname } = new URL(request.url);
  // The header is what the client claims. The host of the URL, which behind a gateway is the gateway's,
  // counts too.
  return { host: request.headers.get('host') ?? ownHost, ownHost, pathname };
}

const resourceText = ({ ownHost, pathname }: Resource): string =>
  `sb://${ownHost}${pathname}`.toLowerCase();

const refusal = (subCode: string, sentence: () => string): TokenRefusal => ({
  subCode,
  toError: () => tokenRefusal(subCode, sentence()),
});

const INVALID_SIGNATURE = refusal(
  '40103',
  () => 'InvalidSignature: The token has an invalid signature.',
);

const rightsRefusal = (resource: string, rights: readonly AccessRight[]): TokenRefusal => ({
  toError: () =>
    new BrokerError(
      'Unauthenticated',
      `Unauthorized access. '${rights.join("' or '")}' claim(s) are required to perform this operation. Resource: '${resource}'.`,
    ),
});
