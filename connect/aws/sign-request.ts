import { defaultProvider } from '@aws-sdk/credential-provider-node';
import {
  doesIdentityRequireRefresh,
  isIdentityExpired,
  memoizeIdentityProvider,
} from '@smithy/core';
import { Hash } from '@smithy/core/serde';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentials } from '../direct/direct-options.ts';

/** For which service and with which credentials requests are signed. */
export interface SignerOptions {
  /** The name of the service in signatures, such as `execute-api` or `lambda`. */
  readonly service: string;
  readonly region: string;
  /** Credentials, or what gets them; default: those of the process, as the SDKs of AWS find them. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>) | undefined;
}

/** A request that is signed as a whole, so it must be sent as it is. */
export interface RequestToSign {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

/** Signs requests to one service by Signature Version 4. */
export interface Signer {
  /**
   * The headers of a request with its signature, and without `host`, which clients set themselves. Throws
   * CredentialsProviderError if there are no credentials.
   */
  sign(request: RequestToSign): Promise<Record<string, string>>;
}

/** Creates a signer. It gets credentials again before they expire. */
export function createSigner({ service, region, credentials }: SignerOptions): Signer {
  const signature = new SignatureV4({
    service,
    region,
    credentials: providerOf(credentials),
    sha256: Hash.bind(null, 'sha256'),
  });
  return {
    sign: async ({ method, url, headers = {}, body }) => {
      const { protocol, hostname, port, host, pathname, searchParams } = new URL(url);
      const signed = await signature.sign({
        method,
        protocol,
        hostname,
        ...(port === '' ? {} : { port: Number(port) }),
        path: pathname,
        query: queryOf(searchParams),
        headers: { ...headers, host },
        body,
      });
      const { host: _, ...others } = signed.headers;
      return others;
    },
  };
}

function providerOf(credentials: SignerOptions['credentials']) {
  if (credentials === undefined) return defaultProvider();
  if (typeof credentials !== 'function') return credentials;
  return (
    memoizeIdentityProvider(credentials, isIdentityExpired, doesIdentityRequireRefresh) ??
    credentials
  );
}

function queryOf(parameters: URLSearchParams): Record<string, string | string[]> {
  const names = [...new Set(parameters.keys())];
  return Object.fromEntries(names.map((name) => [name, parameters.getAll(name)]));
}
