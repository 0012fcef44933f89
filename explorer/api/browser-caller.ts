import { callUntilNotBusy } from '../../client/busy.ts';
import { type Call, type Caller, type HttpAnswer, isSuccess, urlOf } from '../../client/call.ts';
import { RefusalError, refusalOf, UnreachableError } from '../../client/client-errors.ts';
import type { Authorize } from './access.ts';

/** How long a request may take: a deployed namespace answers within 30 s. */
const ANSWER_MS_MAX = 60_000;

const EFFECT = 'The request may have taken effect.';
/** A page does not learn why nothing came. */
const WHAT_TO_DO = 'Check that the namespace runs and that you have a network, and try again.';

/** Calls the namespace that serves this page. */
export class BrowserCaller implements Caller {
  readonly #origin: string;
  readonly #authorize: Authorize;

  constructor(origin: string, authorize: Authorize) {
    this.#origin = origin;
    this.#authorize = authorize;
  }

  async call(call: Call): Promise<HttpAnswer> {
    return await callUntilNotBusy(
      () => this.#once(call),
      (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    );
  }

  async #once(call: Call): Promise<HttpAnswer> {
    const { method, headers, body, waitMs = 0 } = call;
    const authorization = await this.#authorize(Date.now());
    const answer = await fetched(urlOf(this.#origin, call), {
      method,
      headers: { Accept: 'application/json', Authorization: authorization, ...headers },
      ...(body === undefined ? {} : { body: body as BodyInit }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX + waitMs),
    });
    if (!isSuccess(answer)) throw withEffect(refusalOf(answer), method);
    return answer;
  }
}

/** Says of an answer that the service did not write, such as 504 of API Gateway, that the request may have done all. */
function withEffect(refusal: RefusalError, method: string): RefusalError {
  const isOfService = !refusal.code.startsWith('HTTP 5');
  if (isOfService || method === 'GET') return refusal;
  return new RefusalError({ ...refusal, message: `${refusal.message} ${EFFECT}` });
}

async function fetched(url: string, init: RequestInit): Promise<HttpAnswer> {
  try {
    const response = await fetch(url, { ...init, cache: 'no-store', credentials: 'omit' });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      get text() {
        return new TextDecoder().decode(bytes);
      },
      bytes,
    };
  } catch (cause) {
    const effect = init.method === 'GET' ? '' : ` ${EFFECT}`;
    throw new UnreachableError(`No answer from ${new URL(url).origin}.${effect} ${WHAT_TO_DO}`, {
      cause,
    });
  }
}
