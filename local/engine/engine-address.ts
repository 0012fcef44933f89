import { StartupError } from '../startup-error.ts';

/** By the name of which engines here keep their tables. */
export const ENGINE_REGION = 'local';

/** The key of an engine that nobody has chosen one for. */
const USUAL_ACCESS_KEY = 'local';

/** Where an engine answers, and the access key by which it tells whose tables are asked for. */
export interface EngineAddress {
  /** To connect to, and to show. */
  readonly url: string;
  readonly accessKey: string;
  /** Whether the address names the key itself. */
  readonly namesKey: boolean;
}

/**
 * Takes the key out of an endpoint that has one, as `http://KEY@127.0.0.1:8000`. Throws StartupError
 * where that is no URL of HTTP: `localhost:8000` is a URL, of the scheme `localhost`.
 */
export function engineAddress(endpoint: string): EngineAddress {
  if (!/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) {
    const withoutKey = endpoint.replace(/^.*@/, '');
    throw new StartupError(
      `DYNAMODB_ENDPOINT is no URL of HTTP: '${withoutKey}'. Write it with its scheme, for instance http://localhost:8000.`,
    );
  }
  const url = new URL(endpoint);
  if (url.username === '') return { url: endpoint, accessKey: USUAL_ACCESS_KEY, namesKey: false };
  const accessKey = url.username;
  url.username = '';
  url.password = '';
  return { url: url.href.replace(/\/$/, ''), accessKey, namesKey: true };
}

/** The endpoint of an engine started here, with its key in it. */
export function endpointOf(host: string, port: number, accessKey: string): string {
  return `http://${accessKey}@${host}:${port}`;
}
