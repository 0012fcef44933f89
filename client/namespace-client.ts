import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionString, httpAddress } from '../shared/auth/connection-string.ts';
import { callUntilNotBusy } from './busy.ts';
import { type Call, type Caller, type HttpAnswer, isSuccess, urlOf } from './call.ts';
import { refusalOf, unreachable } from './client-errors.ts';
import { httpCall } from './http-call.ts';
import { SasTokens } from './sas-tokens.ts';

/** How long a request may take: deployed functions answer within 30 s. */
const ANSWER_MS_MAX = 100_000;
/** How long an answer may be, bytes: about as much as fits into a text. */
const ANSWER_BYTES_MAX = 512 * 2 ** 20;

/**
 * Calls a namespace over HTTP with the tokens of a connection string. A connection string of an entity reaches that
 * entity only.
 */
export class NamespaceClient implements Caller {
  /** The address of the namespace, without a slash at its end. */
  readonly address: string;
  readonly #tokens: SasTokens;

  /** `tokenExpiresAt` = when the only token of this client expires, epoch ms; default: tokens of an hour. */
  constructor(connection: ConnectionString, tokenExpiresAt?: number) {
    this.#tokens = new SasTokens(connection, tokenExpiresAt);
    this.address = httpAddress(connection);
  }

  async call(call: Call): Promise<HttpAnswer> {
    return await callUntilNotBusy(() => this.#once(call), delay);
  }

  async #once(call: Call): Promise<HttpAnswer> {
    const answer = await this.#answerTo(call);
    if (!isSuccess(answer)) throw refusalOf(answer);
    return answer;
  }

  async #answerTo(call: Call): Promise<HttpAnswer> {
    const { method, headers, body, waitMs = 0 } = call;
    try {
      return await httpCall({
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
    } catch (cause) {
      throw unreachable(this.address, cause);
    }
  }
}
