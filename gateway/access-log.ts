import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientOf } from '../server/client-address.ts';
import type { WebApp } from '../server/server.ts';
import { claimedRuleOf, loggedRule, type ProvedRule } from '../shared/auth/proved-rule.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { RateLimit } from '../shared/domain/budgets/rate-limit.ts';

/** Where lines of the access log go. */
export type LogAccess = (kind: string, details: Readonly<Record<string, unknown>>) => void;

const PATH_LENGTH_MAX = 300;
const UNAUTHORIZED = 401;
/** Behind a message stands the token of its lock. */
const LOCK_TOKEN = /(?<=\/messages\/[^/]+\/)[^/]+\/*$/i;

/** Bounds the lines of the access log: strangers decide how many there would be, and each is paid for. */
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

  /** Lines that were left out since this was last asked. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

/** Remembers of each request that is under way the first rule that gave it a right. */
export class ProvedRules {
  readonly #rules = new WeakMap<Request, ProvedRule>();

  readonly add = (request: Request, rule: ProvedRule): void => {
    if (!this.#rules.has(request)) this.#rules.set(request, rule);
  };

  /** What the log says of the rule of a request. */
  logged(request: Request, status: number) {
    const rule = this.#rules.get(request);
    if (rule !== undefined || status !== UNAUTHORIZED) return loggedRule(rule);
    return { claimedRule: claimedRuleOf(request.headers.get('authorization')) };
  }
}

/**
 * An app of which each request stands in the log. Of its token only the rule does that has signed it, or,
 * where none has that gives the right, the name that it claims. The query and tokens of locks are left out.
 */
export function withAccessLog(
  app: WebApp,
  log: LogAccess,
  now: () => number,
  rules: ProvedRules,
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

/** The path without the token of a lock. */
function loggedPath(request: Request): string {
  const { pathname } = new URL(request.url);
  return pathname.replace(LOCK_TOKEN, '*').slice(0, PATH_LENGTH_MAX);
}

/** The answer to a request that is about to be made. */
function answerOf(bindings: object | undefined) {
  const served: { readonly incoming?: IncomingMessage; readonly outgoing?: ServerResponse } =
    bindings ?? {};
  const { incoming, outgoing } = served;
  const socket = incoming?.socket;
  const before = socket?.bytesWritten ?? 0;
  return {
    /** Calls back when it has left, or never will, with the bytes that left; at once where the client is gone. */
    whenSent: (sent: (bytesOut: number) => void) => {
      const told = () => sent((socket?.bytesWritten ?? 0) - before);
      if (outgoing === undefined || outgoing.closed) told();
      else outgoing.once('close', told);
    },
  };
}
