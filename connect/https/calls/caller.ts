import type { HttpAnswer } from '../../../client/call.ts';
import { type NamespaceCall, urlOf } from '../../../client/call.ts';
import { httpCall } from '../../../client/http-call.ts';
import {
  BrokerError,
  entityNotFound,
  isUnknownOutcome,
  serviceBusy,
} from '../../../shared/domain/broker-error.ts';
import { pause, type Scheduler } from '../../../shared/domain/scheduler.ts';
import { failureOf, refusalOf } from './refusals.ts';
import type { Success } from './success.ts';

/** The headers of a body in JSON. */
export const JSON_BODY = { 'Content-Type': 'application/json' } as const;

/** A request to a namespace, and whether it may be sent again. */
export interface Call extends NamespaceCall {
  readonly success: Success;
  /** Whether it may be carried out twice, so that it is sent again where no answer came. */
  readonly isRepeatable: boolean;
  /** The caller itself asks again later. */
  readonly isTriedOnce?: true;
}

/** A request as it is signed. */
export interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

/** Returns the headers of a request, with those that give it its rights. */
export type Sign = (request: UnsignedRequest) => Promise<Readonly<Record<string, string>>>;

/** Where a namespace is, and how requests to it are signed. */
export interface Remote {
  /** Without a slash at its end: `https://orders.example.com`. */
  readonly address: string;
  readonly sign: Sign;
  readonly scheduler: Scheduler;
  /** Whether paths go in lower case. */
  readonly lowersPaths: boolean;
}

/** Calls a namespace. */
export interface Calls {
  /**
   * Sends a request; again if it was not carried out because the service is busy or not reachable, and if it is
   * repeatable also where no answer came or it may succeed later. Throws the refusals of the service; ServiceBusy if it
   * was not carried out; ServiceTimeout if that is not known of some try.
   */
  call(call: Call): Promise<HttpAnswer>;
}

/** How long a request may take: deployed functions answer within 30 s. */
const ANSWER_MS_MAX = 35_000;
/** How long an answer may be, bytes: one message of 100 MB, and what is around it. */
const ANSWER_BYTES_MAX = 128 * 2 ** 20;
/** Tries of a request that was not carried out, or may be carried out twice, and the pauses in between. */
const TRIES_MAX = 5;
const PAUSE_MS = { first: 100, most: 2_000 } as const;

/** Calls a namespace over HTTP. Every failure becomes a BrokerError, as if the broker were here. */
export class Caller implements Calls {
  readonly #remote: Remote;

  constructor(remote: Remote) {
    this.#remote = remote;
  }

  async call(call: Call): Promise<HttpAnswer> {
    let pauseMs: number = PAUSE_MS.first;
    let unknown: BrokerError | undefined;
    for (let tries = 1; ; tries++) {
      const outcome = await this.#once(call);
      if (!(outcome instanceof BrokerError)) return outcome;
      if (isUnknownOutcome(outcome)) unknown ??= outcome;
      if (call.isTriedOnce || !mayRepeat(outcome, call)) throw outcome;
      // That the last try did nothing says nothing about an earlier one.
      if (tries >= TRIES_MAX) throw unknown ?? outcome;
      await pause(this.#remote.scheduler, pauseMs);
      pauseMs = Math.min(PAUSE_MS.most, 2 * pauseMs);
    }
  }

  async #once(call: Call): Promise<HttpAnswer | BrokerError> {
    const { address, sign, lowersPaths } = this.#remote;
    const { method, body, headers = {}, success } = call;
    const path = lowersPaths ? lowered(call.path) : call.path;
    if (DOTS.test(path)) return entityNotFound(path);
    const url = urlOf(address, { ...call, path });
    const unsigned = { method, url, headers: { Accept: 'application/json', ...headers }, body };
    let signed: Readonly<Record<string, string>>;
    try {
      signed = await sign(unsigned);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      return serviceBusy(`The request was not sent, because it cannot be signed: ${reason}`, {
        cause,
      });
    }
    try {
      const limits = { timeoutMs: ANSWER_MS_MAX, bytesMax: ANSWER_BYTES_MAX };
      const answer = await httpCall({ ...unsigned, headers: signed, ...limits });
      return success(answer) ? answer : refusalOf(answer);
    } catch (cause) {
      return failureOf(address, cause);
    }
  }
}

/** Segments by which a URL leads elsewhere: the rights of the client were checked for another path. */
const DOTS = /(?:^|\/)\.\.?(?:\/|$)/;

function mayRepeat(error: BrokerError, { isRepeatable }: Call): boolean {
  return isRepeatable ? error.retryable : error.code === 'ServiceBusy';
}

/** A path in lower case but for the name of a rule, which it may give. */
export function lowered(path: string): string {
  const at = path.lastIndexOf(RULES) + RULES.length;
  if (at < RULES.length) return path.toLowerCase();
  return `${path.slice(0, at).toLowerCase()}${path.slice(at)}`;
}

const RULES = '/Rules/';
