import { timingSafeEqual } from 'node:crypto';
import { Hono } from 'hono';
import { httpCall } from '../../client/http-call.ts';
import { lowered, type Remote } from '../../connect/https/calls/caller.ts';
import {
  type AboutExplorer,
  EXPLORER_PATH,
  explorerRoutes,
} from '../../lambdas/http/explorer/routes.ts';
import { plainLimit, withBody } from '../../lambdas/http/routing/request-body.ts';
import type { WebApp } from '../../server/server.ts';
import type { ProcessResources } from '../../shared/app/namespace-settings.ts';
import { BrokerError, messageSizeExceeded } from '../../shared/domain/broker-error.ts';
import { MB } from '../../shared/domain/units.ts';

/** How long a request may take: a deployed namespace answers within 30 s. */
const ANSWER_MS_MAX = 100_000;
const ANSWER_BYTES_MAX = 128 * MB;
/** More than any request of the page has. */
const REQUEST_LIMIT = plainLimit(128 * MB, (bytes) =>
  messageSizeExceeded(`The request is ${bytes} bytes long, which is too much for one.`),
);

/** What of a request, and of an answer, is passed on. */
const REQUEST_HEADERS = ['accept', 'content-type', 'if-match', 'idempotency-key'] as const;
const ANSWER_HEADERS = [
  'content-type',
  'etag',
  'retry-after',
  'x-dynabus-error',
  'x-dynabus-retryable',
];

/** What a forwarder serves. */
export interface ForwarderOptions {
  readonly remote: Pick<Remote, 'address' | 'sign' | 'lowersPaths'>;
  /** What the page has to send, so that nobody else on this machine uses the rights of who has started it. */
  readonly secret: string;
  readonly about: AboutExplorer;
  /** What counts the memory of requests. */
  readonly resources: Pick<ProcessResources, 'memory' | 'workTurns'>;
}

/**
 * Serves the explorer, and passes its requests on to a namespace with the rights of who has started it. Requests
 * without the secret are refused with 401, and where it is read-only, all that may change something with 403.
 */
export function explorerForwarder({ remote, secret, about, resources }: ForwarderOptions): WebApp {
  const app = new Hono();
  app.get('/', (c) => c.redirect(EXPLORER_PATH));
  app.route('/', explorerRoutes(about));
  const expected = Buffer.from(`Bearer ${secret}`);
  app.all('*', async (c) => {
    const given = Buffer.from(c.req.header('Authorization') ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      return c.json(refusal('Unauthenticated', WITHOUT_SECRET), 401);
    }
    if (about.isReadOnly === true && c.req.method !== 'GET') {
      return c.json(refusal('Forbidden', READ_ONLY), 403);
    }
    try {
      const request = c.req.raw;
      return await withBody(resources, request, REQUEST_LIMIT, (body) =>
        forward(remote, request, body),
      );
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      const { code, message, retryable } = error;
      return c.json(refusal(code, message, retryable), retryable ? 503 : 403);
    }
  });
  return app;
}

const WITHOUT_SECRET =
  "The request does not have the secret of 'dynabus explorer': open the address that it has printed.";
const READ_ONLY =
  "The request was not passed on, because 'dynabus explorer' was started with --read-only.";

function refusal(code: string, message: string, retryable = false): object {
  return { error: { code, message, retryable } };
}

async function forward(
  { address, sign, lowersPaths }: ForwarderOptions['remote'],
  request: Request,
  body: Uint8Array,
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const headers = Object.fromEntries(
    REQUEST_HEADERS.flatMap((name) => {
      const value = request.headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  const unsigned = {
    method: request.method,
    url: `${address}${lowersPaths ? lowered(pathname) : pathname}${search}`,
    headers,
    ...(body.length === 0 ? {} : { body }),
  };
  try {
    const limits = { timeoutMs: ANSWER_MS_MAX, bytesMax: ANSWER_BYTES_MAX };
    const answer = await httpCall({ ...unsigned, headers: await sign(unsigned), ...limits });
    const kept = ANSWER_HEADERS.flatMap((name): [string, string][] => {
      const value = answer.header(name);
      return value === undefined ? [] : [[name, value]];
    });
    const hasBody = answer.bytes.length > 0;
    return new Response(hasBody ? new Uint8Array(answer.bytes) : null, {
      status: answer.status,
      headers: kept,
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return Response.json(
      refusal(
        'ServiceTimeout',
        `No answer from ${address}, so that the request may have taken effect or not: ${reason}`,
      ),
      {
        status: 504,
      },
    );
  }
}
