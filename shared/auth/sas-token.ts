import type { EntityStore } from '../broker/ports/entities.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { Clock } from '../domain/clock.ts';
import type { AccessRight, AuthorizationRule } from '../domain/entities/descriptions.ts';
import { type EntityPath, parseEntityPath } from '../domain/entities/entity-path.ts';
import type { NamespaceKeys } from './namespace-keys.ts';
import type { ProvedRule } from './proved-rule.ts';
import { comparablePath, type SasToken, splitAddress, tokenRefusal } from './sas-token-text.ts';
import type { TokenMemory } from './token-memory.ts';

export { createSasToken } from './sas-token-text.ts';

/** Who may do what by a shared access signature (semantics K2, K4). */

/** What decides which rule has signed a token. */
export interface AuthDependencies {
  readonly entities: EntityStore;
  readonly namespaceKeys: NamespaceKeys;
  /** Decides when tokens expire: the time of the machine, also where users move the clock. */
  readonly tokenClock: Clock;
  /** What this process remembers of tokens. */
  readonly tokens: TokenMemory;
}

/** Names under which a laptop calls itself; a token made for one of them is good for the others. */
const LOCAL_HOST = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0)$/;

/** What a token is to be good for. */
export interface Resource {
  /** The host as the client named it. */
  readonly host: string;
  /** The host as we know it; behind a gateway the gateway's. */
  readonly ownHost: string;
  readonly pathname: string;
}

/** What was found out about a token that is good. */
export interface TokenProof {
  /** The path it is good for, with everything below it; see `pathsCovering`. */
  readonly audiencePath: string;
  /** The rule that has signed it. Nothing else of a token is to decide whose it is: no signature covers the name. */
  readonly rule: ProvedRule;
}

/** Rules whose key has signed a token. */
interface Signers {
  readonly rules: readonly AuthorizationRule[];
  /** The key of the entity whose rules they are; undefined for those of the namespace. */
  readonly entity: string | undefined;
}

const NOBODY: Signers = { rules: [], entity: undefined };

/**
 * Throws Unauthenticated, with the subcodes 40102 to 40106, unless the token of a request is good
 * for one of these rights. `path` is the entity it addresses; without one only the rules of the
 * namespace count.
 */
export async function requireSasToken(
  parts: AuthDependencies,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<TokenProof> {
  return await requireSasTokenFor(parts, textIn(request), resourceOf(request), path, rights);
}

/** The same for a token that came without a request. */
export async function requireSasTokenFor(
  parts: AuthDependencies,
  text: string,
  resource: Resource,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<TokenProof> {
  const token = parts.tokens.read(text);
  requireNotExpired(token, parts.tokenClock.now());
  requireAudience(token, resource);
  const signers = await signersOf(parts, token, path);
  const rule = requireRights(textOf(resource), signers ?? NOBODY, rights);
  return { audiencePath: token.audiencePath, rule };
}

/**
 * The paths that a token may be for, so as to be good for an address: its own and all above it, as
 * `TokenProof` has them.
 */
export function pathsCovering(pathname: string): readonly string[] {
  const paths = [comparablePath(pathname)];
  for (let path = paths[0] ?? ''; path !== ''; ) {
    path = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    paths.push(path);
  }
  return paths;
}

/** The rule that gives one of the rights. */
function requireRights(
  resource: string,
  { rules, entity }: Signers,
  rights: readonly AccessRight[],
): ProvedRule {
  if (rules.length === 0) throw invalidSignature();
  const rule = rules.find((one) => rights.some((right) => one.rights.includes(right)));
  if (rule !== undefined) return { name: rule.keyName, entity };
  throw new BrokerError(
    'Unauthenticated',
    `Unauthorized access. '${rights.join("' or '")}' claim(s) are required to perform this operation. Resource: '${resource}'.`,
  );
}

/**
 * Throws Unauthenticated unless the token of a request may be good for one of these rights on some
 * entity. The rule where that is proved: one has signed it that has one of them, of the namespace or of
 * the entity that the token is for. Undefined where the token is for no entity that exists, such as the
 * whole namespace: then a rule of any entity may have signed it, or nobody.
 */
export async function requireLikelyToken(
  parts: AuthDependencies,
  request: Request,
  rights: readonly AccessRight[],
): Promise<ProvedRule | undefined> {
  const token = parts.tokens.read(textIn(request));
  requireNotExpired(token, parts.tokenClock.now());
  const signers = await signersOf(parts, token, entityNamedBy(token.audiencePath));
  return signers && requireRights(textOf(resourceOf(request)), signers, rights);
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
 * The audience must be the request's address or lie above it. People reach the service on their
 * laptop by several names, hence the rule for hosts: the one the client used, or where that is a
 * local one, any local one. Scheme, port and query do not count, nor does case.
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
    `InvalidAudience: The token is for '${audience.slice(0, 300)}', which does not cover '${textOf(resource)}'.`,
  );
}

/**
 * The rules whose key signed the token, of the namespace or else of an entity; undefined where there is
 * no such entity. Names may recur at entity and namespace, so all are tried; the entity is only looked
 * up when no rule of the namespace fits, and keys of the namespace are only read again when none of the
 * entity does either.
 */
async function signersOf(
  parts: AuthDependencies,
  token: SasToken,
  path: EntityPath | undefined,
): Promise<Signers | undefined> {
  const { namespaceKeys, tokens } = parts;
  const rules = await namespaceKeys.rules();
  const ofNamespace = signersAmong(rules, tokens, token);
  if (ofNamespace.length > 0) return { rules: ofNamespace, entity: undefined };
  const ofEntity = path && (await signersOfEntity(parts, token, path));
  if (ofEntity !== undefined && ofEntity.rules.length > 0) return ofEntity;
  if (!rules.some(({ keyName }) => keyName === token.keyName)) return ofEntity;
  const changed = (await namespaceKeys.changedFrom?.(rules)) ?? [];
  const ofChanged = signersAmong(changed, tokens, token);
  return ofChanged.length > 0 ? { rules: ofChanged, entity: undefined } : ofEntity;
}

/** The rules of an entity whose key signed the token; undefined where there is no such entity. */
async function signersOfEntity(
  { entities, tokens }: AuthDependencies,
  token: SasToken,
  path: EntityPath,
): Promise<Signers | undefined> {
  const entityKey = keyOfRules(path);
  const entity = await tokens.find(entityKey, (key) => entities.find(key));
  if (entity === undefined) return undefined;
  const { description } = entity;
  const rules = description.kind === 'subscription' ? [] : description.authorizationRules;
  return { rules: signersAmong(rules, tokens, token), entity: entityKey };
}

/** The key of the entity whose rules hold: subscriptions have none of their own, their topic's do. */
export function keyOfRules({ key, subscription }: EntityPath): string {
  return subscription?.topic.toLowerCase() ?? key;
}

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

const textIn = (request: Request): string => request.headers.get('authorization') ?? '';

function resourceOf(request: Request): Resource {
  const { host: ownHost, pathname } = new URL(request.url);
  // The header is the client's word; behind a gateway the address is the gateway's, so it counts too.
  return { host: request.headers.get('host') ?? ownHost, ownHost, pathname };
}

const textOf = ({ ownHost, pathname }: Resource): string =>
  `sb://${ownHost}${pathname}`.toLowerCase();

const invalidSignature = (): BrokerError =>
  tokenRefusal('40103', 'InvalidSignature: The token has an invalid signature.');
