import { UsageError } from '../startup-error.ts';

/** The AWS region under which the local engines keep their tables. */
export const ENGINE_REGION = 'local';

/** The access key for an endpoint that holds none. */
const DEFAULT_ACCESS_KEY = 'local';

/** The address of an engine, and the access key that selects the tables which the engine shows. */
export interface EngineAddress {
  /** Without the access key: for connections and for messages to the user. */
  readonly url: string;
  readonly accessKey: string;
  /** Whether the endpoint holds the access key. */
  readonly hasKey: boolean;
}

/**
 * Splits an endpoint into its URL and its access key, for example `http://KEY@127.0.0.1:8000`. The key is
 * optional. Throws UsageError if the endpoint is not an HTTP URL; `localhost:8000` is a URL whose scheme is
 * `localhost`.
 */
export function engineAddress(endpoint: string): EngineAddress {
  if (!/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) {
    const withoutKey = endpoint.replace(/^.*@/, '');
    throw new UsageError(
      `DYNAMODB_ENDPOINT is not an HTTP URL: '${withoutKey}'. Write it with its scheme, for example http://localhost:8000.`,
    );
  }
  const url = new URL(endpoint);
  if (url.username === '') return { url: endpoint, accessKey: DEFAULT_ACCESS_KEY, hasKey: false };
  const accessKey = url.username;
  url.username = '';
  url.password = '';
  return { url: url.href.replace(/\/$/, ''), accessKey, hasKey: true };
}

/** The endpoint of an engine that this process starts, with the access key in it. */
export function endpointOf(host: string, port: number, accessKey: string): string {
  return `http://${accessKey}@${host}:${port}`;
}
