import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientOf } from '../server/client-address.ts';
import type { WebApp } from '../server/server.ts';
import { claimedRuleOf, loggedRule, type SigningRule } from '../shared/auth/signing-rule.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { RateLimit } from '../shared/domain/budgets/rate-limit.ts';

/** Writes one line of the access log. */
export type LogAccess = (kind: string, details: Readonly<Record<string, unknown>>) => void;

const PATH_LENGTH_MAX = 300;
const UNAUTHORIZED = 401;
/** The lock token after a message in a path. */
const LOCK_TOKEN = /(?<=\/messages\/[^/]+\/)[^/]+\/*$/i;

/** Bounds the rate of access log lines: strangers can cause any number, and each costs money. */
export class AccessLog {
  readonly #write: LogAccess;
  readonly #limit = new RateLimit(BUDGETS.process.accessLines, 1);
  readonly #now: () => number;
  #dropped = 0;

  /** `now` = monotonic ms. */
  constructor(write: LogAccess, now: () => number) {
    this.#write = write;
    this.#now = now;
  }

  readonly write: LogAccess = (kind, details) => {
    if (this.#limit.take('', this.#now())) this.#write(kind, details);
    else this.#dropped++;
  };

  /** The number of lines dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

/** Remembers, for each request under way, the first rule that gave it a right. */
export class RulesOfRequests {
  readonly #rules = new WeakMap<Request, SigningRule>();

  readonly add = (request: Request, rule: SigningRule): void => {
    if (!this.#rules.has(request)) this.#rules.set(request, rule);
  };

  /** The fields of the log for a request's rule. */
  logged(request: Request, status: number) {
    const rule = this.#rules.get(request);
    if (rule !== undefined || status !== UNAUTHORIZED) return loggedRule(rule);
    return { claimedRule: claimedRuleOf(request.headers.get('authorization')) };
  }
}

/**
 * Wraps an app so that each request is logged. Of its token the log has only the rule that signed it or, if no rule
 * gave the right, the name that the token claims. Query and lock tokens are not logged.
 */
export function withAccessLog(
  app: WebApp,
  log: LogAccess,
  now: () => number,
  rules: RulesOfRequests,
): WebApp {
  return {
    fetch: async (request, bindings) => {
      const since = now();
      const answer = answerOf(bindings);
      const response = await app.fetch(request, bindings);
      const details = {
        client: clientOf(bindings),
        method: request.method,
        path: loggedPath(request),
        ...rules.logged(request, response.status),
        status: response.status,
        bytesIn: Number(request.headers.get('content-length') ?? 0),
      };
      answer.whenSent((bytesOut) => {
        log('request', { ...details, bytesOut, ms: Math.round(now() - since) });
      });
      return response;
    },
  };
}

/** The path without a lock token. */
function loggedPath(request: Request): string {
  const { pathname } = new URL(request.url);
  return pathname.replace(LOCK_TOKEN, '*').slice(0, PATH_LENGTH_MAX);
}

/** The answer to the current request. */
function answerOf(bindings: object | undefined) {
  const served: { readonly incoming?: IncomingMessage; readonly outgoing?: ServerResponse } =
    bindings ?? {};
  const { incoming, outgoing } = served;
  const socket = incoming?.socket;
  const before = socket?.bytesWritten ?? 0;
  return {
    /**
     * Calls back with the bytes sent once the answer is sent or its connection is closed; at once if it is closed
     * already.
     */
    whenSent: (sent: (bytesOut: number) => void) => {
      const told = () => sent((socket?.bytesWritten ?? 0) - before);
      if (outgoing === undefined || outgoing.closed) told();
      else outgoing.once('close', told);
    },
  };
}
