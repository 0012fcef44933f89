import type { HttpDependencies } from '../lambdas/http/http-dependencies.ts';
import { createApp } from '../lambdas/http/routing/routing.ts';
import { clientOf } from '../server/client-address.ts';
import { isHealthCheck } from '../server/http/health-check.ts';
import type { WebApp } from '../server/server.ts';
import { serviceBusy } from '../shared/domain/broker-error.ts';
import { isAuthorized } from '../shared/domain/budgets/authorized-requests.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { addressGroup, RateLimit } from '../shared/domain/budgets/rate-limit.ts';
import type { TaskLimits } from './limits.ts';

const OF_ADDRESS =
  'Too many requests a second from your address. Wait a moment and try again, and send or receive several messages in one request.';
const OF_ALL =
  'Too many requests a second. Wait a moment and try again, and send or receive several messages in one request.';
const UNAUTHORIZED = 401;

/**
 * Wraps an app with limits on requests a second: one for each address, and one for all requests with a right. Requests
 * without a right count only against the limit of their address.
 */
export class LimitedApp implements WebApp {
  readonly #app: WebApp;
  readonly #refusing: Readonly<Record<'ofAddress' | 'ofAll', WebApp>>;
  readonly #ofAddress: RateLimit;
  readonly #ofAll: RateLimit;
  readonly #now: () => number;
  #refused = 0;

  /** `now` = monotonic ms. */
  constructor(
    app: WebApp,
    dependencies: HttpDependencies,
    limits: Pick<TaskLimits, 'requests' | 'requestsOfAddress'>,
    now: () => number,
  ) {
    this.#app = app;
    this.#refusing = {
      ofAddress: refusing(dependencies, OF_ADDRESS),
      ofAll: refusing(dependencies, OF_ALL),
    };
    this.#ofAddress = new RateLimit(limits.requestsOfAddress, BUDGETS.rateBuckets);
    this.#ofAll = new RateLimit(limits.requests, 1);
    this.#now = now;
  }

  /** The number of requests refused since the last call. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }

  async fetch(request: Request, bindings?: object): Promise<Response> {
    const address = addressGroup(clientOf(bindings) ?? '');
    if (!this.#ofAddress.take(address, this.#now())) return this.#refuse('ofAddress', request);
    if (isHealthCheck(request)) return await this.#app.fetch(request, bindings);
    if (!this.#ofAll.take('', this.#now())) return this.#refuse('ofAll', request);
    const response = await this.#app.fetch(request, bindings);
    // A request without a right counts only for its address, whatever its answer.
    if (!isAuthorized(request)) this.#ofAll.refund('', this.#now());
    if (response.status === UNAUTHORIZED) {
      this.#ofAddress.take(address, this.#now(), BUDGETS.address.refusedAsRequests - 1);
    }
    return response;
  }

  async #refuse(limit: 'ofAddress' | 'ofAll', request: Request): Promise<Response> {
    this.#refused++;
    return await this.#refusing[limit].fetch(request);
  }
}

/** An app that refuses every request with ServiceBusy. */
function refusing(dependencies: HttpDependencies, sentence: string): WebApp {
  const app = createApp(dependencies);
  app.all('*', () => {
    throw serviceBusy(sentence);
  });
  return app;
}
