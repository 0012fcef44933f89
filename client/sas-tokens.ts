import { type ConnectionString, httpAddress } from '../shared/auth/connection-string.ts';
import { createSasToken } from '../shared/auth/create-sas-token.ts';

/** The life of a token, and how long before its end it is replaced. */
const TOKEN_MS = 60 * 60_000;
const TOKEN_SPARE_MS = 10 * 60_000;

/** The tokens of a connection string, one after the other. */
export class SasTokens {
  readonly #connection: ConnectionString;
  readonly #expiresAt: number | undefined;
  #token: { readonly text: string; readonly expiresAt: number } | undefined;

  /** `expiresAt` = when the only token expires, epoch ms; default: tokens of an hour. */
  constructor(connection: ConnectionString, expiresAt?: number) {
    this.#connection = connection;
    this.#expiresAt = expiresAt;
  }

  /** A token that is valid for a while. `now` = epoch ms. */
  text(now: number): string {
    const isOld = this.#token !== undefined && this.#token.expiresAt - TOKEN_SPARE_MS < now;
    if (this.#token === undefined || isOld) {
      const { keyName, key, entityPath } = this.#connection;
      const address = httpAddress(this.#connection);
      const audience = entityPath === undefined ? address : `${address}/${entityPath}`;
      const expiresAt = this.#expiresAt ?? now + TOKEN_MS;
      this.#token = { expiresAt, text: createSasToken({ audience, keyName, key, expiresAt }) };
    }
    return this.#token.text;
  }
}
