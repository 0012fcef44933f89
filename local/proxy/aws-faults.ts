import { StartupError } from '../startup-error.ts';

/** What was called, for the sentence about its failure. */
export interface AwsCall {
  /** The service or table, and where it is: `CloudFormation in eu-west-1`. */
  readonly what: string;
  /** What the credentials must allow, in words that follow "allow". */
  readonly right: string;
}

const NO_CREDENTIALS = new Set(['CredentialsProviderError', 'TokenProviderError']);
const EXPIRED = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'RequestExpired',
  'TokenRefreshRequired',
]);
const UNKNOWN = new Set([
  'InvalidClientTokenId',
  'UnrecognizedClientException',
  'SignatureDoesNotMatch',
  'InvalidSignatureException',
  'IncompleteSignature',
]);
/** How the SDKs of AWS name an answer that they cannot read: no JSON, or no error of AWS. */
const NOT_AWS = new Set(['SyntaxError', 'UnknownError', 'Unknown']);
const DENIED = new Set(['AccessDenied', 'AccessDeniedException']);

/**
 * What a failure of a call of AWS means for the user: a StartupError with a sentence that says what to do next. The
 * error itself where it says nothing that the user could mend.
 */
export function awsFault(error: unknown, { what, right }: AwsCall): unknown {
  const names = causesOf(error).map(({ name }) => name);
  const has = (those: ReadonlySet<string>) => names.some((name) => those.has(name));
  const fault = (text: string) => new StartupError(text, { cause: error });
  if (has(NO_CREDENTIALS)) {
    const { message } = causesOf(error).at(-1) ?? { message: '' };
    return fault(
      `There are no AWS credentials that can be used: ${sentenceEnd(message)} Set AWS_PROFILE, or log in with aws sso login, and start again.`,
    );
  }
  if (has(EXPIRED)) {
    return fault(
      'The AWS credentials have expired: get new ones, for instance with aws sso login, and start again.',
    );
  }
  if (has(UNKNOWN)) {
    return fault(
      `AWS does not know these credentials: check AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. It was asked for ${what}.`,
    );
  }
  if (has(DENIED)) {
    return fault(`These credentials may not use ${what}: they must allow ${right}.`);
  }
  if (names.includes('ResourceNotFoundException')) {
    return fault(
      `There is no ${what} in the account of these credentials: check the namespace, the region and AWS_PROFILE.`,
    );
  }
  if (names.some((name) => NOT_AWS.has(name))) {
    return fault(
      `What answers for ${what} is not AWS, but for instance a proxy of the network or a page to log in: check the network, and the address if you have set one.`,
    );
  }
  if (causesOf(error).some(isUnreachable)) {
    const { message } = causesOf(error).at(-1) ?? { message: '' };
    return fault(
      `Nothing answers for ${what}: ${sentenceEnd(message)} Check the region and the network.`,
    );
  }
  return error;
}

function isUnreachable({ name, code }: Error & { readonly code?: unknown }): boolean {
  return name === 'TimeoutError' || /^E[A-Z_]{4,}$/.test(String(code)) || code === 'UND_ERR_SOCKET';
}

/** An error and its causes, the first one first. */
function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let one = error; one instanceof Error && !causes.includes(one); one = one.cause) {
    causes.push(one);
  }
  return causes;
}

function sentenceEnd(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
