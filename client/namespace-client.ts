import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionString, httpAddress } from '../shared/auth/connection-string.ts';
import { isSuccess, type NamespaceCall, urlOf } from './call.ts';
import { type RefusalError, refusalOf, unreachable } from './client-errors.ts';
import { type HttpAnswer, httpCall } from './http-call.ts';
import { SasTokens } from './sas-tokens.ts';

/** A request to a namespace, and how long the service may wait for messages. */
export interface Call extends NamespaceCall {
  /** In addition to the time of every request, ms. */
  readonly waitMs?: number;
}

/** How long a request may take: deployed functions answer within 30 s. */
const ANSWER_MS_MAX = 100_000;
/** How long an answer may be, bytes: about as much as fits into a text. */
const ANSWER_BYTES_MAX = 512 * 2 ** 20;
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
  readonly #tokens: SasTokens;

  /** `tokenExpiresAt` = when the only token of this client expires, epoch ms; default: tokens of an hour. */
  constructor(connection: ConnectionString, tokenExpiresAt?: number) {
    this.#tokens = new SasTokens(connection, tokenExpiresAt);
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
        url: urlOf(this.address, call),
        headers: {
          Accept: 'application/json',
          Authorization: this.#tokens.text(Date.now()),
          ...headers,
        },
        body,
        timeoutMs: ANSWER_MS_MAX + waitMs,
        bytesMax: ANSWER_BYTES_MAX,
      });
      return isSuccess(answer) ? { answer } : { refusal: refusalOf(answer) };
    } catch (cause) {
      throw unreachable(this.address, cause);
    }
  }
}
