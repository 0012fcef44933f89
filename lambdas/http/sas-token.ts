import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { AccessRight, AuthorizationRule } from '../../shared/domain/descriptions.ts';
import { type EntityPath, parseEntityPath } from '../../shared/domain/entity-path.ts';
import type { HttpParts } from './parts.ts';
import { comparablePath, type SasToken, splitAddress, tokenRefusal } from './sas-token-text.ts';

export { createSasToken } from './sas-token-text.ts';

/** Who may do what by a shared access signature (semantics §14). */

type AuthParts = Pick<HttpParts, 'entities' | 'namespaceKeys' | 'clock' | 'tokens'>;

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
  readonly keyName: string;
  /** Whether a rule of the namespace has signed it, so that it is good for every entity. */
  readonly isOfNamespace: boolean;
}

/**
 * Throws Unauthenticated, with the subcodes 40102 to 40106, unless the token of a request is good
 * for one of these rights. `path` is the entity it addresses; without one only the rules of the
 * namespace count.
 */
export async function requireSasToken(
  parts: AuthParts,
  request: Request,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<void> {
  await requireSasTokenFor(parts, textIn(request), resourceOf(request), path, rights);
}

/** The same for a token that came without a request. */
export async function requireSasTokenFor(
  parts: AuthParts,
  text: string,
  resource: Resource,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<TokenProof> {
  const token = parts.tokens.read(text);
  requireNotExpired(token, parts.clock.now());
  requireAudience(token, resource);
  const ofNamespace = await namespaceSigners(parts, token);
  const isOfNamespace = ofNamespace.length > 0;
  const rules = isOfNamespace ? ofNamespace : ((await entitySigners(parts, token, path)) ?? []);
  if (rules.length === 0) throw invalidSignature();
  requireRights(textOf(resource), rules, rights);
  return { audiencePath: token.audiencePath, keyName: token.keyName, isOfNamespace };
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

function requireRights(
  resource: string,
  rules: readonly AuthorizationRule[],
  rights: readonly AccessRight[],
): void {
  if (rules.some((rule) => rights.some((right) => rule.rights.includes(right)))) return;
  throw new BrokerError(
    'Unauthenticated',
    `Unauthorized access. '${rights.join("' or '")}' claim(s) are required to perform this operation. Resource: '${resource}'.`,
  );
}

/**
 * Throws Unauthenticated unless the token of a request may be good for one of these rights on some
 * entity. True where that is proved: a rule has signed it that has one of them, of the namespace or of
 * the entity that the token is for. False where the token is for no entity that exists, such as the
 * whole namespace: then a rule of any entity may have signed it, or nobody.
 */
export async function requireLikelyToken(
  parts: AuthParts,
  request: Request,
  rights: readonly AccessRight[],
): Promise<boolean> {
  const token = parts.tokens.read(textIn(request));
  requireNotExpired(token, parts.clock.now());
  const ofNamespace = await namespaceSigners(parts, token);
  const rules =
    ofNamespace.length > 0
      ? ofNamespace
      : await entitySigners(parts, token, entityNamedBy(token.audiencePath));
  if (rules === undefined) return false;
  if (rules.length === 0) throw invalidSignature();
  requireRights(textOf(resourceOf(request)), rules, rights);
  return true;
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
 * The rules of the namespace whose key signed the token. Names may recur at entity and namespace, so
 * all are tried; the entity is only looked up when no rule of the namespace fits.
 */
async function namespaceSigners(
  { namespaceKeys, tokens }: AuthParts,
  token: SasToken,
): Promise<readonly AuthorizationRule[]> {
  return signersAmong(await namespaceKeys.rules(), tokens, token);
}

/** The rules of an entity whose key signed the token; undefined where there is no such entity. */
async function entitySigners(
  { entities, tokens }: AuthParts,
  token: SasToken,
  path: EntityPath | undefined,
): Promise<readonly AuthorizationRule[] | undefined> {
  if (path === undefined) return undefined;
  const entity = await tokens.find(keyOfRules(path), (key) => entities.find(key));
  if (entity === undefined) return undefined;
  const { description } = entity;
  const rules = description.kind === 'subscription' ? [] : description.authorizationRules;
  return signersAmong(rules, tokens, token);
}

/** The key of the entity whose rules hold: subscriptions have none of their own, their topic's do. */
export function keyOfRules({ key, subscription }: EntityPath): string {
  return subscription?.topic.toLowerCase() ?? key;
}

function signersAmong(
  rules: readonly AuthorizationRule[],
  tokens: AuthParts['tokens'],
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
