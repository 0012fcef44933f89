import { argumentError } from '../broker-error.ts';
import { shortened } from '../fault-words.ts';
import { CONSUMER_LIMITS } from './consumer.ts';

/** A Lambda function, with all that its ARN tells. */
export interface LambdaTarget {
  readonly kind: 'lambda';
  readonly arn: string;
  /** `aws`, `aws-cn`, `aws-us-gov`, … */
  readonly partition: string;
  readonly region: string;
  /** The id of the AWS account, 12 digits. */
  readonly account: string;
  readonly name: string;
  /** A version or an alias; absent = the latest version. */
  readonly qualifier?: string;
}

/** A server on the machine of a local namespace. */
export interface LocalTarget {
  readonly kind: 'local';
  readonly url: string;
}

/** What a consumer calls. */
export type Target = LambdaTarget | LocalTarget;

const LAMBDA =
  /^arn:(aws[a-z-]*):lambda:([a-z0-9-]+):(\d{12}):function:([\w-]{1,64})(?::([\w-]{1,128}|\$LATEST(?:\.PUBLISHED)?))?$/;
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;
/** The only addresses that are always those of this machine. */
const LOCAL_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];
/** Characters that an error repeats. */
const SHOWN_LENGTH = 100;

/** Reads the target of a consumer (semantics J4). Throws ArgumentError. */
export function parseTarget(text: string): Target {
  if (text.length > CONSUMER_LIMITS.targetLength) {
    throw argumentError(
      `The target is ${text.length} characters long; the limit is ${CONSUMER_LIMITS.targetLength}.`,
    );
  }
  if (URL_START.test(text)) return localTarget(text);
  const [, partition, region, account, name, qualifier] = LAMBDA.exec(text) ?? [];
  if (!partition || !region || !account || !name) {
    throw argumentError(
      `The target '${shortened(text, SHOWN_LENGTH)}' is not valid: it must be the ARN of a Lambda function, such as 'arn:aws:lambda:eu-west-1:123456789012:function:name', with a version or an alias behind it if you like, or, on a local server, an address such as 'http://127.0.0.1:3000/orders'.`,
    );
  }
  const known = { kind: 'lambda', arn: text, partition, region, account, name } as const;
  return qualifier === undefined ? known : { ...known, qualifier };
}

/** Its refusals do not repeat the address, which may have a password. */
function localTarget(text: string): LocalTarget {
  const url = parsed(text);
  if (url === undefined) throw argumentError('The target is not a valid URL.');
  if (url.protocol !== 'http:') {
    throw argumentError(
      `The target begins with '${shortened(url.protocol, SHOWN_LENGTH)}': an address must begin with 'http://'.`,
    );
  }
  if (url.username !== '' || url.password !== '' || text.includes('@')) {
    throw argumentError("The target has a user name, a password or an '@': remove it.");
  }
  if (text.includes('#')) throw argumentError("The target has a fragment, '#…': remove it.");
  // As it is written: parsers accept many other spellings of the same addresses.
  const [, host = ''] = /^http:\/\/(\[[^\]/]*\]|[^/:?]*)/i.exec(text) ?? [];
  if (!LOCAL_HOSTS.includes(host.toLowerCase())) {
    throw argumentError(
      `The target has the host '${shortened(host, SHOWN_LENGTH)}': an address must be one of this machine, with the host 127.0.0.1, localhost or [::1].`,
    );
  }
  if (/[\s\\]/.test(text)) throw argumentError('The target has a space or a backslash: encode it.');
  if (/[\p{Cc}\p{Cs}]/u.test(text)) {
    throw argumentError('The target has a control character, or half a character: encode it.');
  }
  return { kind: 'local', url: text };
}

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
