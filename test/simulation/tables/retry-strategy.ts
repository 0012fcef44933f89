/**
 * The retries of the SDK: the standard strategy of the installed version, with its delays for DynamoDB.
 */

const DELAY_MS = { transient: 25, throttling: 1000 } as const;
const DELAY_MS_MAX = 20_000;
const TOKENS_MAX = 500;
const COST = { transient: 14, throttling: 5 } as const;
/** Tokens that a request returns to the budget if its first try succeeds. */
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
/** How deep the SDK follows the causes of an error. */
const CAUSES_MAX = 10;

/** The parts of an error that decide about a retry. */
interface Failure {
  readonly name?: string;
  readonly code?: string;
  readonly cause?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

type Kind = keyof typeof COST;

/** The kind of retry that an error leads to; undefined = the SDK does not retry. */
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

/** The retry tokens of a client, which all of its requests share. Without tokens it does not retry. */
export class RetryBudget {
  #tokens = TOKENS_MAX;

  /** Pays for a retry; false = there are too few tokens. */
  spend(kind: Kind): boolean {
    if (this.#tokens < COST[kind]) return false;
    this.#tokens -= COST[kind];
    return true;
  }

  /** After a success, returns the cost of the request's last retry to the budget; undefined = it had none. */
  gain(lastKind: Kind | undefined): void {
    const gain = lastKind === undefined ? FIRST_TRY_GAIN : COST[lastKind];
    this.#tokens = Math.min(TOKENS_MAX, this.#tokens + gain);
  }
}

/** How long the SDK waits before another try, ms; `tries` = how many have failed, `fraction` in [0, 1). */
export function retryDelay(kind: Kind, tries: number, fraction: number): number {
  return Math.floor(fraction * Math.min(DELAY_MS[kind] * 2 ** (tries - 1), DELAY_MS_MAX));
}
