import type { Context, ErrorHandler } from 'hono';
import { reportFault } from '../../../shared/app/report-fault.ts';
import { BrokerError, type BrokerErrorCode } from '../../../shared/domain/broker-error.ts';
import type { RandomSource } from '../../../shared/domain/clock.ts';
import { escapeText } from '../format/xml-text.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { failsInJson } from '../management/media-types.ts';
import { acceptsExact, isExactContentType } from '../message-formats/exact-type.ts';
import { subQueueHint } from './url-path.ts';

/** The two REST interfaces of the vendor, which map a missing entity to different statuses. */
export type ErrorStyle = 'runtime' | 'management';

type ErrorDependencies = Pick<HttpDependencies, 'clock' | 'random' | 'namespace'>;

/**
 * The vendor's REST interface for messages (semantics H4) answers 410 for a missing entity, because there
 * 404 means a missing message or lock, and 403 for a message that is too large. A disabled entity is 403
 * as well: 400 would blame a request that succeeds unchanged once the entity is enabled.
 */
const RUNTIME_STATUS = {
  ArgumentError: 400,
  InvalidOperation: 400,
  MessageSizeExceeded: 403,
  QuotaExceeded: 403,
  MessageLockLost: 404,
  MessageNotFound: 404,
  MessagingEntityNotFound: 410,
  MessagingEntityAlreadyExists: 409,
  MessagingEntityDisabled: 403,
  NoMatchingSubscription: 404,
  PreconditionFailed: 412,
  ConflictInProgress: 409,
  SessionCannotBeLocked: 409,
  SessionLockLost: 410,
  Unauthenticated: 401,
  Forbidden: 403,
  ServiceBusy: 503,
  ServiceTimeout: 504,
  TransactionAborted: 409,
  NotSupported: 501,
} as const satisfies Record<BrokerErrorCode, number>;

/** Management clients recognize a missing entity by 404, and take 410 for another error (semantics G23). */
const MANAGEMENT_STATUS = {
  ...RUNTIME_STATUS,
  MessagingEntityNotFound: 404,
} as const satisfies Record<BrokerErrorCode, number>;

const STATUS = { runtime: RUNTIME_STATUS, management: MANAGEMENT_STATUS } as const;

/** The value of Retry-After for ServiceBusy, seconds; clients back off further by themselves. */
const BUSY_RETRY_SECONDS = 1;

/** An error before it is formatted. A header repeats `code`, so that clients need not parse the body. */
interface Failure {
  readonly status: number;
  readonly code: string;
  readonly sentence: string;
  readonly subCode?: string | undefined;
  readonly retryable: boolean;
  /** In a transaction: the index of the operation that caused the refusal. */
  readonly operation?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The error handler of an app: a BrokerError becomes a response with its status. Any other error is a fault
 * of the service: `report` logs it, and the response is a 500 that does not reveal it. Each has a tracking id
 * (semantics #157, #B2).
 */
export function errorHandler(
  dependencies: ErrorDependencies,
  style: ErrorStyle,
  report: typeof reportFault = reportFault,
): ErrorHandler {
  return (error, c) => {
    const trackingId = createTrackingId(dependencies.random);
    if (!(error instanceof BrokerError)) report(error, trackingId);
    const failure = withHint(failureOf(error, style), c);
    return respond(failure, wantsJson(c), c, dependencies, trackingId);
  };
}

/**
 * The response where no operation has this path (404), or none has this method (405; semantics H7). `allowed` = the
 * methods that the path has; empty for an unknown path.
 */
export function unknownRouteResponse(
  c: Context,
  dependencies: ErrorDependencies,
  allowed: readonly string[],
): Response {
  const elsewhere = allowed.length > 0 && !allowed.includes(c.req.method);
  const failure: Failure = elsewhere
    ? {
        status: 405,
        code: 'MethodNotAllowed',
        sentence: `The method ${c.req.method} is not supported here; supported: ${allowed.join(', ')}.`,
        retryable: false,
        headers: { Allow: allowed.join(', ') },
      }
    : {
        status: 404,
        code: 'RouteNotFound',
        sentence: 'No operation of the service has this address.',
        retryable: false,
      };
  return respond(failure, wantsJson(c), c, dependencies, createTrackingId(dependencies.random));
}

/** The error of one outcome in a response that holds several outcomes. */
export interface OutcomeError {
  readonly code: string;
  readonly message: string;
  readonly trackingId: string;
  readonly retryable: boolean;
  readonly subCode?: string | undefined;
}

/** The error of one refused outcome. */
export function outcomeErrorOf(error: BrokerError, trackingId: string): OutcomeError {
  const { code, message, retryable, subCode } = error;
  return { code, message, trackingId, retryable, subCode };
}

/** A new GUID, sent to the client and written to the log, which matches a client's report to its log line. */
export function createTrackingId(random: RandomSource): string {
  const bytes = random.bytes(16);
  // Version 4, variant 1: some GUID parsers reject every other version.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function failureOf(error: unknown, style: ErrorStyle): Failure {
  if (!(error instanceof BrokerError)) {
    return {
      status: 500,
      code: 'InternalError',
      sentence: 'The service was unable to process the request; please retry the operation.',
      subCode: '50000',
      retryable: false,
    };
  }
  const { code, message, subCode, retryable, operation } = error;
  return {
    status: STATUS[style][code],
    code,
    sentence: message,
    subCode,
    retryable,
    operation,
    headers: headersOf(code),
  };
}

/**
 * Adds a hint to MessagingEntityNotFound where the path is that of a sub-queue without its `$`, and answers
 * 404: the entity that the client means may exist (semantics H7).
 */
function withHint(failure: Failure, c: Context): Failure {
  const hint =
    failure.code === 'MessagingEntityNotFound'
      ? subQueueHint(new URL(c.req.url).pathname)
      : undefined;
  if (hint === undefined) return failure;
  return { ...failure, status: 404, sentence: `${failure.sentence} ${hint}` };
}

/** ServiceBusy tells when to try again (semantics H6). */
function headersOf(code: BrokerErrorCode): Readonly<Record<string, string>> {
  if (code === 'ServiceBusy') return { 'Retry-After': String(BUSY_RETRY_SECONDS) };
  return code === 'Unauthenticated' ? { 'WWW-Authenticate': 'SharedAccessSignature' } : {};
}

/** Every refusal has two headers for programs (semantics H5). */
function respond(
  failure: Failure,
  json: boolean,
  c: Context,
  dependencies: ErrorDependencies,
  trackingId: string,
): Response {
  const timestamp = new Date(dependencies.clock.now()).toISOString().slice(0, 19);
  const body = json
    ? jsonBody(failure, trackingId, timestamp)
    : xmlBody(
        failure.status,
        `${detailOf(failure)} TrackingId:${trackingId}_G0, SystemTracker:${dependencies.namespace}:${entityOf(c)}, Timestamp:${timestamp}`,
      );
  return new Response(body, {
    status: failure.status,
    headers: {
      'Content-Type': json ? 'application/json' : 'application/xml; charset=utf-8',
      'x-dynabus-error': failure.code,
      'x-dynabus-retryable': String(failure.retryable),
      ...failure.headers,
    },
  });
}

/** The sentence after its subcode, in the two forms that the service uses (semantics G22, K3). */
function detailOf({ status, subCode, sentence }: Failure): string {
  if (subCode === undefined || !isSubCodeOf(status, subCode)) return sentence;
  return status === 401 ? `${subCode}: ${sentence}` : `SubCode=${subCode}. ${sentence}`;
}

/**
 * Whether to print a subcode. A subcode begins with its status; with another status (410 for 404) it would
 * mislead. Exceptions: the limits of topics have 405xx, which clients expect with a 403 (semantics Q5), and a missing
 * destination of a forward has 40400 with a 400 (semantics #125).
 */
function isSubCodeOf(status: number, subCode: string): boolean {
  return (
    subCode.startsWith(String(status)) ||
    (status === 403 && subCode.startsWith('405')) ||
    (status === 400 && subCode === '40400')
  );
}

function jsonBody(failure: Failure, trackingId: string, timestamp: string): string {
  const { code, retryable, operation, subCode } = failure;
  const message = detailOf(failure);
  // JSON.stringify omits undefined members.
  return JSON.stringify({
    error: { code, message, operation, trackingId, retryable, timestamp, subCode },
  });
}

function xmlBody(status: number, detail: string): string {
  return `<Error><Code>${status}</Code><Detail>${escapeText(detail)}</Detail></Error>`;
}

/** Whether the error is JSON: where the client prefers it, and on our own operations, which use JSON (semantics H5). */
function wantsJson(c: Context): boolean {
  const { path } = c.req;
  const isOnMessages = /\/(?:messages|sessions)\//.test(`${path}/`);
  if (isOnMessages && /\/\$[^/]+$/.test(path)) return true;
  const { raw } = c.req;
  if (isOnMessages && (acceptsExact(raw) || isExactContentType(raw.headers.get('content-type')))) {
    return true;
  }
  if (/^\/\$(?:transactions|entities)\/?$/i.test(path)) return true;
  if (c.req.method === 'GET' && /.\/messages$/.test(path)) return true;
  if (path.endsWith('/messages/head')) {
    const type = c.req.header('content-type');
    if (c.req.query('maxMessages') !== undefined || type?.startsWith('application/json')) {
      return true;
    }
  }
  return failsInJson(raw, isOnMessages);
}

/** The entity in the tracking text: the path before `/messages` or `/sessions`, spelled as in the request. */
function entityOf(c: Context): string {
  const [entity = ''] = c.req.path.slice(1).split(/\/messages(?:\/|$)|\/sessions\/\$/i);
  return entity.slice(0, 300);
}
