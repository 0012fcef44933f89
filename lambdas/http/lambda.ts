import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyEventV2WithIAMAuthorizer,
  APIGatewayProxyStructuredResultV2,
} from 'aws-lambda';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { type Environment, readAccess } from '../../shared/app/settings.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import { IamRequest } from './routing/access.ts';

/** What an event may tell of who called. */
interface GivenAuthorizer {
  readonly iam?: Partial<
    APIGatewayProxyEventV2WithIAMAuthorizer['requestContext']['authorizer']['iam']
  > | null;
}

/** An app of routes, as Hono makes them. */
export interface HttpApp {
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

/**
 * What is left to do behind an answer delays it by this much at most, ms. What takes longer goes on with the
 * next request, or is the sweep's.
 */
export const FINISH_MS_MAX = 1000;

/**
 * Lets an HTTP API call the app, event format 2.0. `finish` ends what was left to do behind the
 * answer: a function is frozen once it has answered. It is waited for up to FINISH_MS_MAX. Not Hono's
 * adapter, which changes bytes on the way: bodies without a content type and headers beyond ASCII.
 */
export function httpHandler(
  app: HttpApp,
  finish: () => Promise<void>,
  environment: Environment = process.env,
  scheduler: Scheduler = realScheduler,
) {
  const byIam = readAccess(environment) === 'iam';
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    if (byIam) requireIamCaller(event);
    const response = await app.fetch(toRequest(event, byIam));
    const [result] = await Promise.all([toResult(response), withinBound(finish(), scheduler)]);
    return result;
  };
}

/** Waits for work, but no longer than FINISH_MS_MAX. */
function withinBound(work: Promise<void>, scheduler: Scheduler): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = scheduler.after(FINISH_MS_MAX, resolve);
    work.finally(() => timer.cancel()).then(resolve, reject);
  });
}

/** Trusts the gateway no further than it says whom IAM let through: a route can be changed by hand. */
function requireIamCaller({ requestContext, routeKey }: APIGatewayProxyEventV2): void {
  const { authorizer } = requestContext as { readonly authorizer?: GivenAuthorizer | null };
  if (!authorizer?.iam?.userArn) {
    throw new Error(`IAM was not asked who calls: the route ${routeKey} has no IAM authorizer.`);
  }
}

function toRequest(event: APIGatewayProxyEventV2, byIam: boolean): Request {
  const { domainName, http } = event.requestContext;
  const path = encodePath(event.rawPath);
  const query = event.rawQueryString === '' ? '' : `?${event.rawQueryString}`;
  const url = new URL(`https://${domainName}${path}${query}`);
  const mayHaveBody = http.method !== 'GET' && http.method !== 'HEAD';
  const init: RequestInit = {
    method: http.method,
    headers: Object.entries(event.headers).map(([name, value]) => [name, toByteString(value)]),
    body: mayHaveBody && event.body ? bytes(event.body, event.isBase64Encoded) : null,
  };
  return byIam ? new IamRequest(url, init, event.rawPath) : new Request(url, init);
}

/** A segment `.` or `..`, with a slash beside it. */
const DOT_SEGMENT = /(?<=\/)((?:\.|%2e){1,2})\/|(?<=.)\/(?=(?:\.|%2e){1,2}$)/gi;

/**
 * HTTP APIs hand over the path percent-decoded, `rawPath` though it is called. What cannot stand in
 * a path is encoded again, and what is still encoded stays so. A segment `..` was sent within an encoded
 * name, `a%2F..%2Fb`, and is joined to it again: as a segment it would lead to another entity.
 */
function encodePath(path: string): string {
  return encodeURI(path.replace(/\p{Surrogate}/gu, '\ufffd'))
    .replace(/%25(?=[\da-f]{2})/gi, '%')
    .replace(/[?#]/g, encodeURIComponent)
    .replace(DOT_SEGMENT, (_, dots = '') => `${dots}%2F`);
}

/** Headers are bytes to `fetch` and to node:http; one character each, whatever they encode. */
function toByteString(value = ''): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

function bytes(body: string, isBase64: boolean): Buffer {
  return Buffer.from(body, isBase64 ? 'base64' : 'utf8');
}

/** Base64 always: a body is bytes, and its content type says nothing certain about them. */
async function toResult(response: Response): Promise<APIGatewayProxyStructuredResultV2> {
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: Buffer.from(await response.arrayBuffer()).toString('base64'),
    isBase64Encoded: true,
  };
}
