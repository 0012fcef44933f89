import { createHmac, timingSafeEqual } from 'node:crypto';
import { BrokerError } from '../domain/broker-error.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import { withoutFinalSlashes } from './url-path.ts';

/**
 * Shared access signatures as text (semantics K1): a token says for which address (`sr`) and until
 * when (`se`) it holds, and is signed with a key of the rule it names (`skn`). Tokens are never logged.
 */
export interface SasToken {
  /** All of it, as it was sent. */
  readonly text: string;
  /** `sr` exactly as it was sent: the signature is over these very characters. */
  readonly audienceAsSent: string;
  /** `sr`, percent-decoded once. */
  readonly audience: string;
  readonly audienceHost: string;
  /** As `comparablePath` makes it. */
  readonly audiencePath: string;
  readonly signature: Uint8Array;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** `se` exactly as it was sent. */
  readonly expiryAsSent: string;
  readonly keyName: string;
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

const SCHEME = /^SharedAccessSignature\s+/i;

/** Makes a token: the value of an `Authorization` header. */
export function createSasToken({ audience, keyName, key, expiresAt }: SasTokenOptions): string {
  const sr = encodeURIComponent(audience);
  const se = String(Math.floor(expiresAt / 1000));
  const sig = encodeURIComponent(sign(key, sr, se).toString('base64'));
  return `SharedAccessSignature sr=${sr}&sig=${sig}&se=${se}&skn=${encodeURIComponent(keyName)}`;
}

/** Whether a key has signed a token. An empty key signs nothing. */
export function isSignedWith(token: SasToken, key: string): boolean {
  if (key === '') return false;
  const expected = sign(key, token.audienceAsSent, token.expiryAsSent);
  return expected.length === token.signature.length && timingSafeEqual(expected, token.signature);
}

function sign(key: string, audienceAsSent: string, expiryAsSent: string): Buffer {
  return createHmac('sha256', key).update(`${audienceAsSent}\n${expiryAsSent}`).digest();
}

/** Reads a token. Throws Unauthenticated, with the subcodes 40102 and 40105. */
export function parseSasToken(text: string): SasToken {
  if (text.length > BUDGETS.tokens.bytes) {
    throw malformed(`it is longer than ${BUDGETS.tokens.bytes} characters`);
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
    // Bytes of its own: those of a small buffer would keep the 8 KB in which it lies, for each token.
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

/** Host in lower case without port, and path without query, of an address with or without scheme. */
export function splitAddress(address: string): [string, string] {
  const [bare = ''] = address.replace(/^[a-z][a-z\d+.-]*:\/\//i, '').split(/[?#]/);
  const slash = bare.indexOf('/');
  const host = slash < 0 ? bare : bare.slice(0, slash);
  const path = slash < 0 ? '' : bare.slice(slash);
  return [host.toLowerCase().replace(/:\d*$/, ''), path];
}

/** Clients encode, and lower-case, in either order; so both sides are decoded and lower-cased. */
export function comparablePath(path: string): string {
  const trimmed = withoutFinalSlashes(path);
  try {
    return decodeURIComponent(trimmed).toLowerCase();
  } catch {
    // Not an encoded path, then: it can only be meant as it stands.
    return trimmed.toLowerCase();
  }
}

const malformed = (why: string, cause?: unknown): BrokerError =>
  tokenRefusal('40105', `MalformedToken: The token is malformed: ${why}.`, cause);

/** A token is not taken; the subcode says why. */
export const tokenRefusal = (subCode: string, sentence: string, cause?: unknown): BrokerError =>
  new BrokerError('Unauthenticated', sentence, { subCode, cause });
