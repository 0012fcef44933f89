import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyEventV2WithIAMAuthorizer,
  APIGatewayProxyStructuredResultV2,
} from 'aws-lambda';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { type Environment, readAccess, readEndpoint } from '../../shared/app/settings.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import { IamRequest } from './routing/access.ts';

/**
 * The IAM authorizer of an event. Every field may be absent: someone may have removed the authorizer of a route or
 * function URL.
 */
interface EventAuthorizer {
  readonly iam?: Partial<
    APIGatewayProxyEventV2WithIAMAuthorizer['requestContext']['authorizer']['iam']
  > | null;
}

/** An app of routes: what this file uses of a Hono app. */
export interface HttpApp {
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

/**
 * The longest that background work delays a response, ms. Longer work goes on during the next request, or is
 * left to the sweep.
 */
export const FINISH_MS_MAX = 1000;

/**
 * Adapts an app to the events of an API Gateway HTTP API or of a function URL, format 2.0. `finish` resolves when the
 * background work is done; the handler waits up to FINISH_MS_MAX for it, because Lambda freezes a function after its
 * response. This is not Hono's adapter, because that one changes bytes: of bodies without a content type and
 * of headers beyond ASCII. With access=iam the handler throws an Error where the event has no IAM caller.
 */
export function httpHandler(
  app: HttpApp,
  finish: () => Promise<void>,
  environment: Environment = process.env,
  scheduler: Scheduler = realScheduler,
) {
  const byIam = readAccess(environment) === 'iam';
  const byUrl = readEndpoint(environment) === 'functionUrl';
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    if (byIam) requireIamCaller(event);
    const { url, init } = toRequest(event);
    const { method } = event.requestContext.http;
    const request = byIam
      ? new IamRequest(url, init, byUrl ? undefined : event.rawPath)
      : new Request(url, init);
    // The app answers such a method as any that no operation has.
    if (!REQUESTABLE.test(method)) Object.defineProperty(request, 'method', { value: method });
    const response = await app.fetch(request);
    const [result] = await Promise.all([toResult(response), withinBound(finish(), scheduler)]);
    return result;
  };
}

/** Waits for work, but at most FINISH_MS_MAX. */
function withinBound(work: Promise<void>, scheduler: Scheduler): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = scheduler.after(FINISH_MS_MAX, resolve);
    work.finally(() => timer.cancel()).then(resolve, reject);
  });
}

/** Requires an IAM caller in the event. Throws an Error if there is none. */
function requireIamCaller({ requestContext, routeKey }: APIGatewayProxyEventV2): void {
  const { authorizer } = requestContext as { readonly authorizer?: EventAuthorizer | null };
  if (!authorizer?.iam?.userArn) {
    throw new Error(
      `IAM did not authorize the caller: the route ${routeKey} has no IAM authorizer.`,
    );
  }
}

/** Methods that `Request` takes, all of our operations among them. It refuses others, for instance TRACE. */
const REQUESTABLE = /^(?:delete|get|head|options|patch|post|put)$/i;

function toRequest(event: APIGatewayProxyEventV2): { url: URL; init: RequestInit } {
  const { domainName, http } = event.requestContext;
  const path = encodePath(event.rawPath);
  const query = event.rawQueryString === '' ? '' : `?${event.rawQueryString}`;
  const url = new URL(`https://${domainName}${path}${query}`);
  const method = REQUESTABLE.test(http.method) ? http.method : 'GET';
  const mayHaveBody = !/^(?:get|head)$/i.test(method);
  const init: RequestInit = {
    method,
    headers: Object.entries(event.headers).flatMap(([name, value]) =>
      HEADER_NAME.test(name) ? [[name, toByteString(value)]] : [],
    ),
    body: mayHaveBody && event.body ? bytes(event.body, event.isBase64Encoded) : null,
  };
  return { url, init };
}

/** Names that headers may have. `Headers` refuses others, which some front ends pass on; they are left out. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** A segment `.` or `..`, with one adjacent slash. */
const DOT_SEGMENT = /(?<=\/)((?:\.|%2e){1,2})\/|(?<=.)\/(?=(?:\.|%2e){1,2}$)/gi;

/**
 * Percent-encodes a path again: HTTP APIs decode it, although the field is called `rawPath`. Characters that
 * a path cannot contain are encoded. Escapes that are still there stay, so the path of a function URL, which is not
 * decoded, stays as it is. Of a segment `..` the slash is encoded, because as a segment it would lead to another
 * entity: API Gateway decodes the name `a%2F..%2Fb`, and no client writes such a segment on purpose. The path of
 * `OPTIONS *` gets a slash, or it would become a part of the host.
 */
function encodePath(path: string): string {
  return encodeURI(path.replace(/^(?!\/)/, '/').replace(/\p{Surrogate}/gu, '\ufffd'))
    .replace(/%25(?=[\da-f]{2})/gi, '%')
    .replace(/[?#]/g, encodeURIComponent)
    .replace(DOT_SEGMENT, (_, dots = '') => `${dots}%2F`);
}

/**
 * A header's UTF-8 bytes as one character each, which is how `fetch` and node:http represent headers. Characters that
 * `Headers` refuses become spaces (RFC 9110, 5.5).
 */
function toByteString(value = ''): string {
  return Buffer.from(value, 'utf8')
    .toString('latin1')
    .replace(/[\0\r\n]/g, ' ');
}

function bytes(body: string, isBase64: boolean): Buffer {
  return Buffer.from(body, isBase64 ? 'base64' : 'utf8');
}

/** The result for API Gateway, always in base64: a body may be any bytes, whatever its content type says. */
async function toResult(response: Response): Promise<APIGatewayProxyStructuredResultV2> {
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: Buffer.from(await response.arrayBuffer()).toString('base64'),
    isBase64Encoded: true,
  };
}
