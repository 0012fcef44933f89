import type { RawReply } from './print-and-call.ts';

type Outcome = 'throttled' | 'missing' | 'forbidden' | 'tooLarge' | 'failed';

/**
 * The errors of Invoke that say by their name what to do. Lambda answers with an error only if it has not run the
 * function, so no delivery counts, with two exceptions below.
 */
const OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ...named('throttled', [
    // Too many calls, or too little of what a function in a VPC needs.
    'TooManyRequestsException',
    'ThrottlingException',
    'Throttling',
    'RequestLimitExceeded',
    'ServiceQuotaExceededException',
    'EC2ThrottledException',
    'EC2UnexpectedException',
    'ENILimitReachedException',
    'SubnetIPAddressLimitReachedException',
    // The function is not ready: new, changed, or idle for long.
    'ResourceConflictException',
    'ResourceNotReadyException',
    'ENINotReadyException',
    'SnapStartNotReadyException',
    'CodeArtifactUserPendingException',
    // What the function is connected with has trouble.
    'EFSIOException',
    'EFSMountConnectivityException',
    'EFSMountTimeoutException',
    'S3FilesMountConnectivityException',
    'S3FilesMountTimeoutException',
    // Lambda has trouble.
    'ServiceException',
    'ServiceUnavailableException',
    'ServiceUnavailable',
    'InternalFailure',
  ]),
  ...named('missing', ['ResourceNotFoundException', 'NoPublishedVersionException']),
  ...named('tooLarge', [
    'RequestTooLargeException',
    'RequestEntityTooLargeException',
    'SerializedRequestEntityTooLargeException',
  ]),
  ...named('forbidden', [
    'AccessDeniedException',
    'AccessDenied',
    'UnrecognizedClientException',
    'InvalidClientTokenId',
    'InvalidSignatureException',
    'IncompleteSignature',
    'MissingAuthenticationToken',
    'ExpiredTokenException',
    'CredentialsProviderError',
    'TokenProviderError',
    'KMSAccessDeniedException',
    'KMSDisabledException',
    'KMSInvalidStateException',
    'KMSNotFoundException',
    // The function cannot start as it is.
    'EC2AccessDeniedException',
    'InvalidSecurityGroupIDException',
    'InvalidSubnetIDException',
    'InvalidRuntimeException',
    'InvalidZipFileException',
    'EFSMountFailureException',
    'S3FilesMountFailureException',
    'SnapStartException',
    'SnapStartRegenerationFailureException',
    'SnapStartTimeoutException',
    'CodeArtifactUserDeletedException',
    'CodeArtifactUserFailedException',
    'ModeNotSupportedException',
    'InvalidParameterValueException',
  ]),
  ...named('failed', [
    // The event is refused for what it holds, as it will be again.
    'InvalidRequestContentException',
    // Lambda has found a loop, which only the maximum delivery count ends.
    'RecursiveInvocationException',
  ]),
]);

/** What node:net reports before there is a connection, so that nothing was sent. */
const NOT_CONNECTED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|EMFILE|ENFILE|EPROTO|ERR_SSL_\w+|CERT_\w+|ERR_TLS_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+)$/;
/** Words of the SDK and of node for a connection that was not made, without a code of its own. */
const NO_CONNECTION = /did not establish a connection|before secure TLS connection was established/;

/** What an error of Invoke means. Where it is not sure that the function has not run, the call has `failed`. */
export function replyOfFault(error: unknown): RawReply {
  const { name = '', message = '', status, code = '', syscall } = factsOf(error);
  const text = `${name}: ${message}`;
  const outcome = OUTCOMES.get(name) ?? (status === undefined ? undefined : ofStatus(status));
  if (outcome !== undefined) return replyOf(outcome, text);
  const isUnsent =
    NOT_CONNECTED.test(code) ||
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    NO_CONNECTION.test(message);
  return isUnsent
    ? replyOf('throttled', `Lambda cannot be reached: ${code} ${message}`)
    : replyOf('failed', `The connection to Lambda broke: ${code} ${message}`);
}

/** The outcome of an error that has no name here. */
function ofStatus(status: number): Outcome | undefined {
  if (status === 429) return 'throttled';
  if (status === 404) return 'missing';
  if (status === 413) return 'tooLarge';
  if (status >= 400 && status < 500) return 'forbidden';
  // Something between has given up waiting, or was cut off: the function may have run.
  if (status === 502 || status === 504) return 'failed';
  return status >= 500 ? 'throttled' : 'failed';
}

function replyOf(outcome: Outcome, error: string): RawReply {
  if (outcome === 'failed' || outcome === 'tooLarge') return { kind: outcome, error };
  return { kind: 'unavailable', why: outcome, error };
}

interface FaultFacts {
  readonly name?: string;
  readonly message?: string;
  readonly code?: string;
  readonly syscall?: string;
  /** Of the answer, where there was one. */
  readonly status?: number;
}

/** The facts of an error of the SDK, which has the status in `$metadata`, or of node. */
function factsOf(error: unknown): FaultFacts {
  if (!(error instanceof Error)) return { message: String(error) };
  const { $metadata, code, syscall } = error as Error & {
    readonly $metadata?: { readonly httpStatusCode?: number };
    readonly code?: unknown;
    readonly syscall?: unknown;
  };
  const status = $metadata?.httpStatusCode;
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof syscall === 'string' ? { syscall } : {}),
    ...(status === undefined ? {} : { status }),
  };
}

function named(
  outcome: Outcome,
  names: readonly string[],
): readonly (readonly [string, Outcome])[] {
  return names.map((name) => [name, outcome]);
}
