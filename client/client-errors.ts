import type { HttpAnswer } from './call.ts';

/** The service has refused a request. Its message is the service's sentence. */
export class RefusalError extends Error {
  override readonly name = 'RefusalError';
  readonly status: number;
  /** The service's code, such as MessagingEntityNotFound; `HTTP 403` of an answer that the service did not write. */
  readonly code: string;
  /** Names the request in the service's log. */
  readonly trackingId: string | undefined;
  /** Whether the same request may succeed later. */
  readonly isRetryable: boolean;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.status = refusal.status;
    this.code = refusal.code;
    this.trackingId = refusal.trackingId;
    this.isRetryable = refusal.isRetryable;
  }
}

/** The sentence of the service with its code, and the id by which its log knows the request. */
export function refusalText({ message, code, trackingId }: RefusalError): string {
  const id = trackingId === undefined ? '' : `, tracking id ${trackingId}`;
  return `${message} (${code}${id})`;
}

/** What an answer says about a refusal. */
interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly trackingId: string | undefined;
  readonly isRetryable: boolean;
}

/** The namespace gave no answer. Its message is a sentence with the address and what to do. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** An entity has more sessions than a listing keeps in memory. Its message is a sentence with what to do. */
export class TooManySessionsError extends Error {
  override readonly name = 'TooManySessionsError';

  constructor(max: number) {
    const count = max.toLocaleString('en');
    super(`More than ${count} sessions have messages, and no more are listed: name a session.`);
  }
}

/** Reads a refusal from an answer, in JSON or XML. */
export function refusalOf({ status, header, text }: HttpAnswer): RefusalError {
  const inBody = fromJson(text) ?? fromXml(text) ?? {};
  return new RefusalError({
    status,
    code: header('x-dynabus-error') ?? inBody.code ?? `HTTP ${status}`,
    message: inBody.message ?? `The service answered with the status ${status}.`,
    trackingId: inBody.trackingId,
    isRetryable: header('x-dynabus-retryable') === 'true' || status === 429,
  });
}

type Found = Partial<Record<'code' | 'message' | 'trackingId', string | undefined>>;

function fromJson(body: string): Found | undefined {
  try {
    const json: unknown = JSON.parse(body);
    const error = fieldOf(json, 'error') ?? json;
    // The control routes of the local server answer with a sentence alone.
    const message = typeof error === 'string' ? error : textOf(error, 'message');
    if (message === undefined) return undefined;
    return { message, code: textOf(error, 'code'), trackingId: textOf(error, 'trackingId') };
  } catch {
    return undefined;
  }
}

const DETAIL =
  /<Detail>(?<message>[^<]*?)(?: TrackingId:(?<trackingId>[\w-]+), SystemTracker:[^<]*)?<\/Detail>/;

function fromXml(body: string): Found | undefined {
  return DETAIL.exec(body)?.groups;
}

function textOf(value: unknown, name: string): string | undefined {
  const field = fieldOf(value, name);
  return typeof field === 'string' ? field : undefined;
}

/** A field of a parsed JSON object; undefined if the value is no object or has no such field. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

const CERTIFICATE = /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/;

/** The error of a request that got no answer. `cause` is the error of the connection. */
export function unreachable(address: string, cause: unknown): UnreachableError {
  const name = cause instanceof Error ? cause.name : 'unknown';
  const code = String(fieldOf(cause, 'code') ?? name);
  return new UnreachableError(`${reasonOf(address, code)} (${code})`, { cause });
}

function reasonOf(address: string, code: string): string {
  if (code === 'ECONNREFUSED') {
    return `Nothing listens at ${address}. Start a namespace with 'dynabus start', or correct the Endpoint of the connection string.`;
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `The host of ${address} is not known. Correct the Endpoint of the connection string, or check the network.`;
  }
  if (CERTIFICATE.test(code)) {
    return `The certificate of ${address} is not trusted. Add UseDevelopmentEmulator=true to the connection string of a local namespace, or name the certificate in NODE_EXTRA_CA_CERTS.`;
  }
  return `No answer from ${address}. The request may have taken effect; check that the namespace runs and try again.`;
}
