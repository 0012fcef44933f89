import { SasTokens } from '../../../client/sas-tokens.ts';
import { httpAddress, parseConnectionString } from '../../../shared/auth/connection-string.ts';
import type { HttpsOptions } from '../https-options.ts';
import type { Remote } from './caller.ts';
import { readEndpoint } from './endpoint.ts';
import { iamSigner } from './iam.ts';

/** Where a namespace is, and how requests to it are signed. Throws ConnectionStringError, EndpointError. */
export function placeOf(options: HttpsOptions): Omit<Remote, 'scheduler'> {
  if ('endpoint' in options) {
    const address = readEndpoint(options.endpoint);
    // IAM compares paths with their case.
    return { address, sign: iamSigner(address, options), lowersPaths: true };
  }
  const connection = parseConnectionString(options.connectionString);
  const tokens = new SasTokens(connection);
  return {
    address: httpAddress(connection),
    // The service checks tokens by the real time.
    sign: async ({ headers }) => ({ ...headers, Authorization: tokens.text(Date.now()) }),
    lowersPaths: false,
  };
}
