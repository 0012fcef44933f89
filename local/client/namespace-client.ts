import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionString, httpAddress } from '../../shared/auth/connection-string.ts';
import { createSasToken } from '../../shared/auth/create-sas-token.ts';
import { type RefusalError, refusalOf, unreachable } from './client-errors.ts';
import { encodePath } from './entity-path.ts';
import { type HttpAnswer, httpCall } from './http-call.ts';

/** A request to a namespace. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From the address of the namespace, not encoded, without a slash before it: `orders/messages`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | bigint | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** How long the service may wait before it answers, in addition to the time of every request. */
  readonly waitMs?: number;
}

/** The life of a token, and how long before its end it is replaced. */
const TOKEN_MS = 60 * 60_000;
const TOKEN_SPARE_MS = 10 * 60_000;
/** How long a request may take: deployed functions answer within 30 s. */
const ANSWER_MS_MAX = 100_000;
/** Tries of a request that the service refused for the moment, with nothing done, and the pauses in between. */
const TRIES_MAX = 8;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 5_000;
const NOTHING_DONE = new Set(['ServiceBusy', 'ConflictInProgress', 'TransactionAborted']);

/**
 * Calls a namespace over HTTP with the tokens of a connection string. A connection string of an entity reaches that
 * entity only.
 */
export class NamespaceClient {
  /** The address of the namespace, without a slash at its end. */
  readonly address: string;
  readonly #connection: ConnectionString;
  readonly #tokenExpiresAt: number | undefined;
  #token: { readonly text: string; readonly expiresAt: number } | undefined;

  /** `tokenExpiresAt` = when the only token of this client expires, epoch ms; default: tokens of an hour. */
  constructor(connection: ConnectionString, tokenExpiresAt?: number) {
    this.#connection = connection;
    this.#tokenExpiresAt = tokenExpiresAt;
    this.address = httpAddress(connection);
  }

  /**
   * Sends a request, again if the service is busy. Throws RefusalError for any answer that is no success, and
   * UnreachableError without an answer.
   */
  async call(call: Call): Promise<HttpAnswer> {
    for (let tries = 1; ; tries++) {
      const { answer, refusal } = await this.#once(call);
      if (answer !== undefined) return answer;
      const isBusy = NOTHING_DONE.has(refusal.code) || refusal.status === 429;
      if (!isBusy || tries >= TRIES_MAX) throw refusal;
      const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** tries);
      await delay(pauseMs);
    }
  }

  async #once(
    call: Call,
  ): Promise<
    | { readonly answer: HttpAnswer; readonly refusal?: never }
    | { readonly answer?: never; readonly refusal: RefusalError }
  > {
    const { method, headers, body, waitMs = 0 } = call;
    try {
      const answer = await httpCall({
        method,
        url: this.#urlOf(call),
        headers: { Accept: 'application/json', Authorization: this.#authorization(), ...headers },
        body,
        timeoutMs: ANSWER_MS_MAX + waitMs,
      });
      return isSuccess(answer) ? { answer } : { refusal: refusalOf(answer) };
    } catch (cause) {
      throw unreachable(this.address, cause);
    }
  }

  #urlOf({ path, query = {} }: Call): string {
    const fields = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(String(value))}`],
    );
    const url = `${this.address}/${encodePath(path)}`;
    return fields.length === 0 ? url : `${url}?${fields.join('&')}`;
  }

  #authorization(): string {
    const now = Date.now();
    const isOld = this.#token !== undefined && this.#token.expiresAt - TOKEN_SPARE_MS < now;
    if (this.#token === undefined || isOld) {
      const { keyName, key, entityPath } = this.#connection;
      const audience = entityPath === undefined ? this.address : `${this.address}/${entityPath}`;
      const expiresAt = this.#tokenExpiresAt ?? now + TOKEN_MS;
      this.#token = { expiresAt, text: createSasToken({ audience, keyName, key, expiresAt }) };
    }
    return this.#token.text;
  }
}

function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}
