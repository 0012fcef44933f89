import { processRegion } from '../../aws/region.ts';
import { createSigner, type Signer, type SignerOptions } from '../../aws/sign-request.ts';
import type { Sign } from './caller.ts';
import { EndpointError } from './endpoint.ts';

/** The addresses that AWS gives to APIs and to function URLs, with their region. */
const API_HOST = /\.execute-api\.([a-z\d-]+)\.amazonaws\.com(?:\.cn)?$/;
const FUNCTION_HOST = /\.lambda-url\.([a-z\d-]+)\.on\.aws$/;

/** Signs requests to a deployment with IAM. The region is looked up at the first one. */
export function iamSigner(
  endpoint: string,
  { region, credentials }: Partial<Pick<SignerOptions, 'region' | 'credentials'>>,
): Sign {
  const { hostname } = new URL(endpoint);
  const [, functionRegion] = FUNCTION_HOST.exec(hostname) ?? [];
  const service = functionRegion === undefined ? 'execute-api' : 'lambda';
  const hostRegion = functionRegion ?? API_HOST.exec(hostname)?.[1];
  let signer: Promise<Signer> | undefined;
  return async (request) => {
    signer ??= regionOf(region ?? hostRegion).then((known) =>
      createSigner({ service, region: known, credentials }),
    );
    return await (await signer).sign(request);
  };
}

async function regionOf(known: string | undefined): Promise<string> {
  const region = known ?? (await processRegion());
  if (region !== undefined) return region;
  throw new EndpointError('The region of the endpoint is not known: give it, or set AWS_REGION.');
}
