import { createHmac, timingSafeEqual } from 'node:crypto';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { AccessRight, AuthorizationRule } from '../../shared/domain/descriptions.ts';
import type { EntityPath } from '../../shared/domain/entity-path.ts';
import type { HttpParts } from './parts.ts';
import { withoutFinalSlashes } from './url-path.ts';

/**
 * Shared access signatures (semantics §14): a token says for which address (`sr`) and until when
 * (`se`) it holds, and is signed with a key of the rule it names (`skn`). Tokens are never logged.
 */
interface SasToken {
  /** `sr` exactly as it was sent: the signature is over these very characters. */
  readonly audienceAsSent: string;
  /** `sr`, percent-decoded once. */
  readonly audience: string;
  readonly signature: Uint8Array;
  readonly expiresSeconds: number;
  /** `se` exactly as it was sent. */
  readonly expiryAsSent: string;
  readonly keyName: string;
}

type AuthParts = Pick<HttpParts, 'entities' | 'namespaceKeys' | 'clock'>;

const SCHEME = /^SharedAccessSignature\s+/i;
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
  const text = request.headers.get('authorization');
  await requireSasTokenFor(parts, text, resourceOf(request), path, rights);
}

/** The same for a token that came without a request. */
export async function requireSasTokenFor(
  parts: AuthParts,
  text: string | null,
  resource: Resource,
  path: EntityPath | undefined,
  rights: readonly AccessRight[],
): Promise<void> {
  const token = parseSasToken(text);
  requireNotExpired(token, parts.clock.now());
  requireAudience(token, resource);
  const rules = await signingRules(parts, token, path);
  if (rules.length === 0) {
    throw refusal('40103', 'InvalidSignature: The token has an invalid signature.');
  }
  requireRights(textOf(resource), rules, rights);
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
 * entity: it is whole, has not expired, and if a rule of the namespace has signed it, that has one.
 */
export async function requireLikelyToken(
  parts: AuthParts,
  request: Request,
  rights: readonly AccessRight[],
): Promise<void> {
  const token = parseSasToken(request.headers.get('authorization'));
  requireNotExpired(token, parts.clock.now());
  const rules = await signingRules(parts, token, undefined);
  if (rules.length > 0) requireRights(textOf(resourceOf(request)), rules, rights);
}

/** What a token is made of. */
export interface SasTokenOptions {
  /** The address it is good for, with everything below it: `http://localhost:5300/orders`. */
  readonly audience: string;
  readonly keyName: string;
  /** The key's text; its UTF-8 bytes sign, they are not decoded from base64. */
  readonly key: string;
  /** Epoch ms; the token holds whole seconds. */
  readonly expiresAt: number;
}

/** Makes a token: the value of an `Authorization` header. */
export function createSasToken({ audience, keyName, key, expiresAt }: SasTokenOptions): string {
  const sr = encodeURIComponent(audience);
  const se = String(Math.floor(expiresAt / 1000));
  const sig = encodeURIComponent(sign(key, sr, se).toString('base64'));
  return `SharedAccessSignature sr=${sr}&sig=${sig}&se=${se}&skn=${encodeURIComponent(keyName)}`;
}

function sign(key: string, audienceAsSent: string, expiryAsSent: string): Buffer {
  return createHmac('sha256', key).update(`${audienceAsSent}\n${expiryAsSent}`).digest();
}

function parseSasToken(header: string | null): SasToken {
  if (header === null || header.trim() === '') {
    throw refusal('40102', "MissingToken: The authorization header wasn't found.");
  }
  if (!SCHEME.test(header)) {
    throw malformed("the authorization header must begin with 'SharedAccessSignature'");
  }
  const fields = new Map(
    header
      .replace(SCHEME, '')
      .split('&')
      .map((field) => splitAtEquals(field.trim())),
  );
  const expiryAsSent = requiredField(fields, 'se');
  if (!/^\d{1,15}$/.test(expiryAsSent)) throw malformed("'se' must be a time in Unix seconds");
  const audienceAsSent = requiredField(fields, 'sr');
  return {
    audienceAsSent,
    audience: decoded(audienceAsSent, 'sr'),
    signature: Buffer.from(decoded(requiredField(fields, 'sig'), 'sig'), 'base64'),
    expiresSeconds: Number(expiryAsSent),
    expiryAsSent,
    keyName: decoded(requiredField(fields, 'skn'), 'skn'),
  };
}

function splitAtEquals(field: string): [string, string] {
  const at = field.indexOf('=');
  return at < 0 ? [field, ''] : [field.slice(0, at).toLowerCase(), field.slice(at + 1)];
}

function requiredField(fields: ReadonlyMap<string, string>, name: string): string {
  const value = fields.get(name);
  if (value === undefined || value === '') throw malformed(`the field '${name}' is missing`);
  return value;
}

function decoded(text: string, name: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw malformed(`the field '${name}' is not percent-encoded UTF-8`, error);
  }
}

function requireNotExpired(token: SasToken, now: number): void {
  const expiresAt = token.expiresSeconds * 1000;
  if (expiresAt > now) return;
  const time = new Date(expiresAt).toISOString();
  throw refusal('40106', `ExpiredToken: The token is expired. Expiration time: '${time}'.`);
}

/**
 * The audience must be the request's address or lie above it. People reach the service on their
 * laptop by several names, hence the rule for hosts: the one the client used, or where that is a
 * local one, any local one. Scheme, port and query do not count, nor does case.
 */
function requireAudience(token: SasToken, resource: Resource): void {
  const [audienceHost, audiencePath] = splitAddress(token.audience);
  const [requestHost] = splitAddress(resource.host);
  const hostFits = LOCAL_HOST.test(audienceHost)
    ? LOCAL_HOST.test(requestHost) && LOCAL_HOST.test(splitAddress(resource.ownHost)[0])
    : audienceHost === requestHost;
  const pathFits = `${comparablePath(resource.pathname)}/`.startsWith(
    `${comparablePath(audiencePath)}/`,
  );
  if (hostFits && pathFits) return;
  throw refusal(
    '40104',
    `InvalidAudience: The token is for '${token.audience.slice(0, 300)}', which does not cover '${textOf(resource)}'.`,
  );
}

/** Host in lower case without port, and path without query, of an address with or without scheme. */
function splitAddress(address: string): [string, string] {
  const [bare = ''] = address.replace(/^[a-z][a-z\d+.-]*:\/\//i, '').split(/[?#]/);
  const slash = bare.indexOf('/');
  const host = slash < 0 ? bare : bare.slice(0, slash);
  const path = slash < 0 ? '' : bare.slice(slash);
  return [host.toLowerCase().replace(/:\d*$/, ''), path];
}

/** Clients encode, and lower-case, in either order; so both sides are decoded and lower-cased. */
function comparablePath(path: string): string {
  const trimmed = withoutFinalSlashes(path);
  try {
    return decodeURIComponent(trimmed).toLowerCase();
  } catch {
    // Not an encoded path, then: it can only be meant as it stands.
    return trimmed.toLowerCase();
  }
}

/**
 * The rules whose key signed the token. Names may recur at entity and namespace, so all are tried;
 * the entity is only looked up when no rule of the namespace fits.
 */
async function signingRules(
  { namespaceKeys, entities }: AuthParts,
  token: SasToken,
  path: EntityPath | undefined,
): Promise<readonly AuthorizationRule[]> {
  const ofNamespace = (await namespaceKeys.rules()).filter((rule) => signed(rule, token));
  if (ofNamespace.length > 0 || path === undefined) return ofNamespace;
  // Subscriptions have no rules of their own; their topic's hold.
  const description = (await entities.find(path.subscription?.topic.toLowerCase() ?? path.key))
    ?.description;
  const ofEntity =
    description === undefined || description.kind === 'subscription'
      ? []
      : description.authorizationRules;
  return ofEntity.filter((rule) => signed(rule, token));
}

function signed(rule: AuthorizationRule, token: SasToken): boolean {
  if (rule.keyName !== token.keyName) return false;
  return [rule.primaryKey, rule.secondaryKey].some((key) => {
    const expected = sign(key, token.audienceAsSent, token.expiryAsSent);
    return (
      key !== '' &&
      expected.length === token.signature.length &&
      timingSafeEqual(expected, token.signature)
    );
  });
}

function resourceOf(request: Request): Resource {
  const { host: ownHost, pathname } = new URL(request.url);
  // The header is the client's word; behind a gateway the address is the gateway's, so it counts too.
  return { host: request.headers.get('host') ?? ownHost, ownHost, pathname };
}

const textOf = ({ ownHost, pathname }: Resource): string =>
  `sb://${ownHost}${pathname}`.toLowerCase();

const malformed = (why: string, cause?: unknown): BrokerError =>
  refusal('40105', `MalformedToken: The token is malformed: ${why}.`, cause);

const refusal = (subCode: string, sentence: string, cause?: unknown): BrokerError =>
  new BrokerError('Unauthenticated', sentence, { subCode, cause });
