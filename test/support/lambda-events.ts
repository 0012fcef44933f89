import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Composition } from '../../lambdas/http/compose.ts';
import { httpHandler } from '../../lambdas/http/lambda.ts';
import { VARIABLES } from '../../shared/app/variables.ts';

/** What calls the function. */
export type Endpoint = 'apiGateway' | 'functionUrl';

/** A function that serves a namespace, as its endpoint calls it: each request is an event, each response a result. */
export class LambdaFunction {
  readonly #endpoint: Endpoint;
  readonly #handler: ReturnType<typeof httpHandler>;

  constructor({ app, idle }: Pick<Composition, 'app' | 'idle'>, endpoint: Endpoint) {
    this.#endpoint = endpoint;
    const environment = endpoint === 'functionUrl' ? { [VARIABLES.endpoint]: endpoint } : {};
    this.#handler = httpHandler(app, idle, environment);
  }

  /** The result of the function for a request. */
  async call(request: Request): Promise<APIGatewayProxyStructuredResultV2> {
    return await this.#handler(await toEvent(request, this.#endpoint));
  }

  /** Answers a request; for `startServer`, which is addressed by `http` where an endpoint has `https`. */
  async fetch(request: Request): Promise<Response> {
    const response = toResponse(await this.call(request));
    const location = response.headers.get('location');
    if (location !== null) response.headers.set('location', location.replace(/^https:/, 'http:'));
    return response;
  }
}

/** The response that the endpoint makes of a result. */
export function toResponse({ statusCode = 500, headers, body = '' }: Result): Response {
  const bytes = Buffer.from(body, 'base64');
  return new Response(bytes.length === 0 ? null : bytes, {
    status: statusCode,
    headers: headers as Record<string, string>,
  });
}

type Result = APIGatewayProxyStructuredResultV2;

/** API Gateway decodes the path, although the field is called `rawPath`; a function URL does not. */
async function toEvent(request: Request, endpoint: Endpoint): Promise<APIGatewayProxyEventV2> {
  const { pathname, search, host } = new URL(request.url);
  const bytes = Buffer.from(await request.arrayBuffer());
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: endpoint === 'apiGateway' ? decodeURIComponent(pathname) : pathname,
    rawQueryString: search.slice(1),
    headers: Object.fromEntries(
      [...request.headers].map(([name, value]) => [name, fromByteString(value)]),
    ),
    requestContext: { domainName: host, http: { method: request.method } },
    isBase64Encoded: bytes.length > 0,
    ...(bytes.length > 0 && { body: bytes.toString('base64') }),
  } as APIGatewayProxyEventV2;
}

/** Events have headers as text, where `fetch` has a character for each byte. */
function fromByteString(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8');
}
