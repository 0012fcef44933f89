import { timingSafeEqual } from 'node:crypto';
import { BrokerError } from '../domain/broker-error.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import { signAudience } from './create-sas-token.ts';

/**
 * A parsed shared access signature (semantics K1). A token is valid for an address (`sr`) until a time
 * (`se`), and is signed with a key of the rule that it names (`skn`). Tokens are never logged.
 */
export interface SasToken {
  /** The whole text as the client sent it. */
  readonly text: string;
  /** `sr` exactly as the client sent it; the signature covers these characters. */
  readonly audienceAsSent: string;
  /** `sr`, percent-decoded once. */
  readonly audience: string;
  /** The host of `audience`, in lower case and without port. */
  readonly audienceHost: string;
  /** The path of `audience` in the form of `comparablePath`. */
  readonly audiencePath: string;
  readonly signature: Uint8Array;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** `se` exactly as the client sent it. */
  readonly expiryAsSent: string;
  /** The rule that the token names. The signature does not cover it. */
  readonly keyName: string;
}

/** The only scheme: the `Bearer` of Entra ID is a malformed token (semantics K10). */
const SCHEME = /^SharedAccessSignature\s+/i;

/** Whether a token is signed with a key. An empty key never matches. */
export function isSignedWith(token: SasToken, key: string): boolean {
  if (key === '') return false;
  const expected = signAudience(key, token.audienceAsSent, token.expiryAsSent);
  return expected.length === token.signature.length && timingSafeEqual(expected, token.signature);
}

/** Parses a token. Throws Unauthenticated with subcode 40102 (no token) or 40105 (malformed token). */
export function parseSasToken(text: string): SasToken {
  if (text.length > BUDGETS.tokens.length) {
    throw malformed(`it is longer than ${BUDGETS.tokens.length} characters`);
  }
  if (text.trim() === '') {
    throw tokenRefusal('40102', "MissingToken: The authorization header wasn't found.");
  }
  if (!SCHEME.test(text)) {
    throw malformed("the authorization header must begin with 'SharedAccessSignature'");
  }
  const fields = new Map(
    text
      .replace(SCHEME, '')
      .split('&')
      .map((field) => splitAtEquals(field.trim())),
  );
  const expiryAsSent = requiredField(fields, 'se');
  if (!/^\d{1,15}$/.test(expiryAsSent)) throw malformed("'se' must be a time in Unix seconds");
  const audienceAsSent = requiredField(fields, 'sr');
  const audience = decoded(audienceAsSent, 'sr');
  const [audienceHost, path] = splitAddress(audience);
  return {
    text,
    audienceAsSent,
    audience,
    audienceHost,
    audiencePath: comparablePath(path),
    // A copy: the bytes of a small Buffer would keep its pool of 8 KB in memory, for each token.
    signature: Uint8Array.from(Buffer.from(decoded(requiredField(fields, 'sig'), 'sig'), 'base64')),
    expiresAt: Number(expiryAsSent) * 1000,
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

/**
 * Splits an address, with or without scheme, into host (lower case, without port) and path (without query).
 */
export function splitAddress(address: string): [string, string] {
  const [bare = ''] = address.replace(/^[a-z][a-z\d+.-]*:\/\//i, '').split(/[?#]/);
  const slash = bare.indexOf('/');
  const host = slash < 0 ? bare : bare.slice(0, slash);
  const path = slash < 0 ? '' : bare.slice(slash);
  return [host.toLowerCase().replace(/:\d*$/, ''), path];
}

/** A path without the slashes at its end. A loop, since a regular expression takes long for many slashes. */
export function withoutFinalSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/**
 * A path in the form in which paths are compared: percent-decoded, in lower case, without final slashes.
 * Clients encode and lower-case the path of a token in either order, so both sides of a comparison take this
 * form.
 */
export function comparablePath(path: string): string {
  const trimmed = withoutFinalSlashes(path);
  try {
    return decodeURIComponent(trimmed).toLowerCase();
  } catch {
    // The path is not percent-encoded, so it is compared as it is.
    return trimmed.toLowerCase();
  }
}

const malformed = (why: string, cause?: unknown): BrokerError =>
  tokenRefusal('40105', `MalformedToken: The token is malformed: ${why}.`, cause);

/** Unauthenticated: a token is refused for the reason of the subcode. */
export const tokenRefusal = (subCode: string, sentence: string, cause?: unknown): BrokerError =>
  new BrokerError('Unauthenticated', sentence, { subCode, cause });
