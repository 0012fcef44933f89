import { usesAwsCredentials } from './engine/dynamo-client.ts';
import { engineAddress } from './engine/engine-address.ts';
import { isLoopback } from './local-admission.ts';
import { StartupError } from './startup-error.ts';

/** The key of the vendor's emulator, which the clients' samples hold: everybody knows it. */
export const PUBLIC_ROOT_KEY = 'SAS_KEY_VALUE';

/** What decides who can reach the namespace, and what is in it. */
export interface KeyChoice {
  readonly key: string | undefined;
  /** The address to listen on. */
  readonly host: string;
}

/**
 * The key of the rule with all rights. The public one protects nothing, so it serves only where nobody
 * else can come in, and only data on this machine. Throws StartupError.
 */
export function chooseRootKey(
  { key = PUBLIC_ROOT_KEY, host }: KeyChoice,
  env: NodeJS.ProcessEnv = process.env,
): string {
  if (key !== PUBLIC_ROOT_KEY) return key;
  if (!isLoopback(host)) {
    throw refused(`other machines can reach ${host}`);
  }
  const { DYNAMODB_ENDPOINT: endpoint } = env;
  if (!endpoint) return key;
  const address = engineAddress(endpoint);
  if (!isLoopback(new URL(address.url).hostname)) {
    throw refused(`the tables at ${address.url} are not on this machine`);
  }
  if (usesAwsCredentials(address, env)) {
    throw refused(`the tables at ${address.url} are used with your AWS credentials`);
  }
  return key;
}

function refused(reason: string): StartupError {
  return new StartupError(
    `Everybody knows the key ${PUBLIC_ROOT_KEY}, and ${reason}: choose a key of your own with --key or DYNABUS_KEY.`,
  );
}
