import type { HttpAnswer } from '../../../client/call.ts';
import { fieldOf } from '../../../client/client-errors.ts';
import {
  BrokerError,
  type BrokerErrorCode,
  isBrokerErrorCode,
  messageSizeExceeded,
  serviceBusy,
} from '../../../shared/domain/broker-error.ts';

/** Reads a refusal in an answer, or as the outcome of one settlement; undefined for JSON that is none. */
export function readRefusal(json: unknown): BrokerError | undefined {
  const [code, message] = [fieldOf(json, 'code'), fieldOf(json, 'message')];
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  const [subCode, operation] = [fieldOf(json, 'subCode'), fieldOf(json, 'operation')];
  const trackingId = fieldOf(json, 'trackingId');
  const details = {
    ...(typeof operation === 'number' && { operation }),
    ...(typeof trackingId === 'string' && { trackingId }),
  };
  // A fault of the service, of which it is not known how far it came.
  if (!isBrokerErrorCode(code)) return notKnown(`The service failed (${code}).`, details);
  const sentence = message.replace(SUB_CODE, '').slice(0, SENTENCE_LENGTH_MAX);
  return new BrokerError(code, sentence, {
    ...details,
    ...(typeof subCode === 'string' && { subCode }),
  });
}

/** Longer than those of the service, which may quote a name. */
const SENTENCE_LENGTH_MAX = 4096;

/** The sentences of the HTTP interface begin with a subcode, those of AMQP do not. */
const SUB_CODE = /^(?:SubCode=\d{5}\. |\d{5}: )/;

/** The refusal in an answer that is no success, whether the service has written it or what is in front of it. */
export function refusalOf(answer: HttpAnswer): BrokerError {
  if (answer.header('x-dynabus-error') !== undefined) {
    const refusal = readRefusal(fieldOf(parsed(answer.text), 'error') ?? parsed(answer.text));
    if (refusal !== undefined) return refusal;
  }
  return refusalInFront(answer);
}

/** What API Gateway, a function URL or a load balancer say where the service itself says nothing. */
function refusalInFront({ status, text }: HttpAnswer): BrokerError {
  const said = text.slice(0, TEXT_LENGTH_MAX).trim();
  switch (status) {
    case 401:
    case 403:
      return refused(
        'Unauthenticated',
        `The endpoint of the deployment refused the request (${status}): ${said} Check the key, or the rights of the AWS credentials.`,
      );
    case 404:
      return refused(
        'NotSupported',
        `The endpoint has no such operation (404): ${said} Check the address, and deploy at least this version of dynabus.`,
      );
    case 413:
      return messageSizeExceeded(`The endpoint of the deployment takes no body so large: ${said}`);
    case 429:
      return serviceBusy(`The endpoint of the deployment limits requests: ${said}`);
  }
  if (status >= 300 && status < 500 && status !== REQUEST_TIMEOUT) {
    return refused(
      'InvalidOperation',
      `The endpoint refused the request (${status}): ${said} Check that it is that of a deployment.`,
    );
  }
  // API Gateway answers 503 also where a function has worked too long.
  return notKnown(`The endpoint of the deployment answered with the status ${status}: ${said}`);
}

const REQUEST_TIMEOUT = 408;

const TEXT_LENGTH_MAX = 200;

const refused = (code: BrokerErrorCode, sentence: string) => new BrokerError(code, sentence);

/** ServiceTimeout, as `unknownOutcome`, with a sentence that says what has happened. */
function notKnown(
  sentence: string,
  details?: ConstructorParameters<typeof BrokerError>[2],
): BrokerError {
  const told = `${sentence} Whether the operation took effect is not known.`;
  return new BrokerError('ServiceTimeout', told, { ...details, subCode: '50400' });
}

/** Calls of the operating system that fail before anything of a request is sent. */
const BEFORE_SENT: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo']);
/** Certificates are checked before, too. */
const CERTIFICATE = /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/;

/** Whether nothing of a request was sent. `cause` = the error of its connection. */
export function isUnsent(cause: unknown): boolean {
  // Of a host with several addresses, each was tried.
  if (cause instanceof AggregateError) return cause.errors.every(isUnsent);
  const code = String(fieldOf(cause, 'code') ?? '');
  return BEFORE_SENT.has(fieldOf(cause, 'syscall')) || CERTIFICATE.test(code);
}

/** The refusal where there was no answer. `cause` = the error of the connection. */
export function failureOf(address: string, cause: unknown): BrokerError {
  const code = String(fieldOf(cause, 'code') ?? '');
  if (isUnsent(cause)) return serviceBusy(`${address} cannot be reached (${code}).`, { cause });
  return notKnown(`No answer came from ${address} (${code}).`, { cause });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
