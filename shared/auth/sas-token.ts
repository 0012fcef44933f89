import type { EntityStore } from '../broker/ports/entities.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { Clock } from '../domain/clock.ts';
import type { AccessRight, AuthorizationRule } from '../domain/entities/descriptions.ts';
import { type EntityPath, parseEntityPath } from '../domain/entities/entity-path.ts';
import type { NamespaceKeys } from './namespace-keys.ts';
import { comparablePath, type SasToken, splitAddress, tokenRefusal } from './sas-token-text.ts';
import type { SigningRule } from './signing-rule.ts';
import type { TokenCache } from './token-cache.ts';

export { createSasToken } from './sas-token-text.ts';

/** Authorization by shared access signatures (semantics #151, K3, K4). */

/** The dependencies of the token checks. */
export interface AuthDependencies {
  readonly entities: EntityStore;
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
  return await requireSasTokenFor(
    dependencies,
    authorizationOf(request),
    resourceOf(request),
    path,
    rights,
  );
}

/** Checks a token that is not part of an HTTP request, as `requireSasToken` does. `text` = the token. */
export async function requireSasTokenFor(
  dependencies: AuthDependencies,
  text: string,
  resource: Resource,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<VerifiedToken> {
  const token = dependencies.tokens.read(text);
  requireNotExpired(token, dependencies.tokenClock.now());
  requireAudience(token, resource);
  const signers = await signersOf(dependencies, token, path);
  const rule = requireRights(resourceText(resource), signers ?? NO_SIGNERS, rights);
  return { audiencePath: token.audiencePath, rule };
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

/** The first rule with one of the rights. Throws Unauthenticated if there is none. */
function requireRights(
  resource: string,
  { rules, entity }: Signers,
  rights: readonly AccessRight[],
): SigningRule {
  if (rules.length === 0) throw invalidSignature();
  const rule = rules.find((one) => rights.some((right) => one.rights.includes(right)));
  if (rule !== undefined) return { name: rule.keyName, entity };
  throw new BrokerError(
    'Unauthenticated',
    `Unauthorized access. '${rights.join("' or '")}' claim(s) are required to perform this operation. Resource: '${resource}'.`,
  );
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
  const token = dependencies.tokens.read(authorizationOf(request));
  requireNotExpired(token, dependencies.tokenClock.now());
  const signers = await signersOf(dependencies, token, entityNamedBy(token.audiencePath));
  return signers && requireRights(resourceText(resourceOf(request)), signers, rights);
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

function requireNotExpired({ expiresAt }: SasToken, now: number): void {
  if (expiresAt > now) return;
  const time = new Date(expiresAt).toISOString();
  throw tokenRefusal('40106', `ExpiredToken: The token is expired. Expiration time: '${time}'.`);
}

/**
 * The audience must be the request's address, or an address above it (semantics #152, K2). The host must be the one
 * that the client used; if that is a local name, any local name is accepted, since users reach a local service by
 * several names. Scheme, port, query and case are ignored. Throws Unauthenticated with subcode 40104.
 */
function requireAudience({ audience, audienceHost, audiencePath }: SasToken, resource: Resource) {
  const [requestHost] = splitAddress(resource.host);
  const hostFits = LOCAL_HOST.test(audienceHost)
    ? LOCAL_HOST.test(requestHost) && LOCAL_HOST.test(splitAddress(resource.ownHost)[0])
    : audienceHost === requestHost;
  const pathFits = `${comparablePath(resource.pathname)}/`.startsWith(`${audiencePath}/`);
  if (hostFits && pathFits) return;
  throw tokenRefusal(
    '40104',
    `InvalidAudience: The token is for '${audience.slice(0, 300)}', which does not cover '${resourceText(resource)}'.`,
  );
}

/**
 * The rules whose key has signed the token: of the namespace, or else of the entity; undefined if the entity
 * does not exist. Entity and namespace may have rules of the same name, so both are tried. To save reads, the
 * entity is looked up only if no rule of the namespace has signed the token, and the namespace's keys are
 * read again only if no rule of the entity has signed it either.
 */
async function signersOf(
  dependencies: AuthDependencies,
  token: SasToken,
  path: EntityPath | undefined,
): Promise<Signers | undefined> {
  const { namespaceKeys, tokens } = dependencies;
  const rules = await namespaceKeys.rules();
  const ofNamespace = signersAmong(rules, tokens, token);
  if (ofNamespace.length > 0) return { rules: ofNamespace, entity: undefined };
  const ofEntity = path && (await signersOfEntity(dependencies, token, path));
  if (ofEntity !== undefined && ofEntity.rules.length > 0) return ofEntity;
  if (!rules.some(({ keyName }) => keyName === token.keyName)) return ofEntity;
  const changed = (await namespaceKeys.changedFrom?.(rules)) ?? [];
  const ofChanged = signersAmong(changed, tokens, token);
  return ofChanged.length > 0 ? { rules: ofChanged, entity: undefined } : ofEntity;
}

/** The rules of an entity whose key has signed the token; undefined if the entity does not exist. */
async function signersOfEntity(
  { entities, tokens }: AuthDependencies,
  token: SasToken,
  path: EntityPath,
): Promise<Signers | undefined> {
  const entityKey = ruleOwnerKey(path);
  const entity = await tokens.find(entityKey, (key) => entities.find(key));
  if (entity === undefined) return undefined;
  const { description } = entity;
  const rules = description.kind === 'subscription' ? [] : description.authorizationRules;
  return { rules: signersAmong(rules, tokens, token), entity: entityKey };
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
  token: SasToken,
): readonly AuthorizationRule[] {
  return rules.filter(
    ({ keyName, primaryKey, secondaryKey }) =>
      keyName === token.keyName &&
      (tokens.isSigned(token, primaryKey) || tokens.isSigned(token, secondaryKey)),
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

const invalidSignature = (): BrokerError =>
  tokenRefusal('40103', 'InvalidSignature: The token has an invalid signature.');
