import { createHmac } from 'node:crypto';

/** The fields of a new token. */
export interface SasTokenOptions {
  /** The address for which the token is valid, with everything below it: `http://localhost:5300/orders`. */
  readonly audience: string;
  readonly keyName: string;
  /** The key's text. Its UTF-8 bytes are the HMAC key; it is not decoded from base64. */
  readonly key: string;
  /** Epoch ms; the token has whole seconds. */
  readonly expiresAt: number;
}

/** Creates a token: the value of an `Authorization` header. */
export function createSasToken({ audience, keyName, key, expiresAt }: SasTokenOptions): string {
  const sr = encodeURIComponent(audience);
  const se = String(Math.floor(expiresAt / 1000));
  const sig = encodeURIComponent(signAudience(key, sr, se).toString('base64'));
  return `SharedAccessSignature sr=${sr}&sig=${sig}&se=${se}&skn=${encodeURIComponent(keyName)}`;
}

/**
 * The signature of a token: HMAC-SHA256 over the audience and the expiry, both as they are sent (semantics K1).
 * @internal
 */
export function signAudience(key: string, audienceAsSent: string, expiryAsSent: string): Buffer {
  return createHmac('sha256', key).update(`${audienceAsSent}\n${expiryAsSent}`).digest();
}
