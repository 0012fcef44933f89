/**
 * Which failures the SDK tries again, when, and how often: its standard strategy with DynamoDB's own delays, as
 * of the installed version.
 */

const DELAY_MS = { transient: 25, throttling: 1000 } as const;
const DELAY_MS_MAX = 20_000;
const TOKENS_MAX = 500;
const COST = { transient: 14, throttling: 5 } as const;
/** What a request that succeeds at its first try gives back. */
const FIRST_TRY_GAIN = 1;

const THROTTLING = new Set([
  'BandwidthLimitExceeded',
  'EC2ThrottledException',
  'LimitExceededException',
  'PriorRequestNotComplete',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'SlowDown',
  'ThrottledException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'TransactionInProgressException',
]);
const TIMED_OUT = new Set(['TimeoutError', 'RequestTimeout', 'RequestTimeoutException']);
const NETWORK_CODES = new Set([
  ...['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
]);
const TRANSIENT_STATUSES = new Set([500, 502, 503, 504]);
const TOO_MANY = 429;
/** Causes of causes are looked at so deep. */
const CAUSES_MAX = 10;

/** What the SDK looks at in a failure. */
interface Failure {
  readonly name?: string;
  readonly code?: string;
  readonly cause?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

type Kind = keyof typeof COST;

/** Why the SDK tries again after a failure; undefined = it does not. */
export function retryKind(error: unknown): Kind | undefined {
  const { name = '', $metadata } = error as Failure;
  if ($metadata?.httpStatusCode === TOO_MANY || THROTTLING.has(name)) return 'throttling';
  return isTransient(error, 0) ? 'transient' : undefined;
}

function isTransient(error: unknown, depth: number): boolean {
  const { name = '', code = '', cause, $metadata } = error as Failure;
  if (name === 'AbortError') return false;
  if (TIMED_OUT.has(name) || NETWORK_CODES.has(code)) return true;
  if (TRANSIENT_STATUSES.has($metadata?.httpStatusCode ?? 0)) return true;
  return cause !== undefined && depth <= CAUSES_MAX && isTransient(cause, depth + 1);
}

/** What a client may still try again, over all of its requests: it stops when too many fail. */
export class RetryBudget {
  #tokens = TOKENS_MAX;

  /** Pays for a further try; false = the budget is used up. */
  spend(kind: Kind): boolean {
    if (this.#tokens < COST[kind]) return false;
    this.#tokens -= COST[kind];
    return true;
  }

  /** Gives back what the last try of a request cost that succeeds; undefined = it was the first. */
  gain(lastKind: Kind | undefined): void {
    const gain = lastKind === undefined ? FIRST_TRY_GAIN : COST[lastKind];
    this.#tokens = Math.min(TOKENS_MAX, this.#tokens + gain);
  }
}

/** How long the SDK waits before another try, ms; `tries` = how many have failed, `fraction` in [0, 1). */
export function retryDelay(kind: Kind, tries: number, fraction: number): number {
  return Math.floor(fraction * Math.min(DELAY_MS[kind] * 2 ** (tries - 1), DELAY_MS_MAX));
}
