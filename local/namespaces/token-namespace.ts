import { parseSasToken } from '../../shared/auth/sas-token-text.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { parseKeyName } from './key-name.ts';

/** Whether a token may name a namespace, at the cost of a search; clients may percent-encode the `@`. */
const MAY_NAME = /@|%40/;

/**
 * The namespace that the token of a request names; undefined if it names none, and if the token is malformed, which the
 * namespace that serves the request then tells. Throws Unauthenticated for a name that no namespace can have.
 */
export function namespaceOfToken({ headers }: Request): string | undefined {
  const text = headers.get('authorization') ?? '';
  const keyName = MAY_NAME.test(text) ? keyNameIn(text) : undefined;
  return keyName && parseKeyName(keyName).namespace;
}

function keyNameIn(text: string): string | undefined {
  try {
    return parseSasToken(text).keyName;
  } catch (error) {
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}
