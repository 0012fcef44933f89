import { isLoopback } from '../server/loopback.ts';
import { PUBLIC_ROOT_KEY } from '../shared/auth/root-rule.ts';
import { usesAwsCredentials } from './engine/dynamo-client.ts';
import { engineAddress } from './engine/engine-address.ts';
import { UsageError } from './startup-error.ts';

/** The options that decide which key is safe. */
export interface RootKeyOptions {
  /** The key of the user's choice. Default: the public key. */
  readonly key: string | undefined;
  /** The address to listen on. */
  readonly host: string;
}

/**
 * Chooses the key of the rule with all rights. The public key protects nothing, so it is accepted only if other
 * machines cannot reach the server, and only for tables on this machine that need no AWS credentials. Throws
 * UsageError.
 */
export function chooseRootKey(
  { key = PUBLIC_ROOT_KEY, host }: RootKeyOptions,
  env: NodeJS.ProcessEnv = process.env,
): string {
  if (key !== PUBLIC_ROOT_KEY) return key;
  if (!isLoopback(host)) {
    throw publicKeyRefused(`other machines can reach ${host}`);
  }
  const { DYNAMODB_ENDPOINT: endpoint } = env;
  if (!endpoint) return key;
  const address = engineAddress(endpoint);
  if (!isLoopback(new URL(address.url).hostname)) {
    throw publicKeyRefused(`the tables at ${address.url} are not on this machine`);
  }
  if (usesAwsCredentials(address, env)) {
    throw publicKeyRefused(`the tables at ${address.url} are used with your AWS credentials`);
  }
  return key;
}

function publicKeyRefused(reason: string): UsageError {
  return new UsageError(
    `The key ${PUBLIC_ROOT_KEY} is public, and ${reason}: choose a key of your own with --key or DYNABUS_KEY.`,
  );
}
