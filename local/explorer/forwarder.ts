import { timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import type { HttpAnswer } from '../../client/call.ts';
import { fieldOf } from '../../client/client-errors.ts';
import { httpCall } from '../../client/http-call.ts';
import { lowered, type Remote } from '../../connect/https/calls/caller.ts';
import { isUnsent } from '../../connect/https/calls/refusals.ts';
import {
  ABOUT_PATH,
  type AboutExplorer,
  answerAbout,
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
 * without the secret are refused with 401, and where it is read-only, all that may change something with 403. Only the
 * page itself needs no secret; which namespace it shows is told with the secret alone.
 */
export function explorerForwarder({ remote, secret, about, resources }: ForwarderOptions): WebApp {
  const app = new Hono();
  const expected = Buffer.from(`Bearer ${secret}`);
  const hasSecret = (c: Context) => {
    const given = Buffer.from(c.req.header('Authorization') ?? '');
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  app.get('/', (c) => c.redirect(EXPLORER_PATH));
  const { namespace: _, ...aboutToAll } = about;
  app.get(ABOUT_PATH, (c) => answerAbout(c, hasSecret(c) ? about : aboutToAll));
  app.route('/', explorerRoutes(aboutToAll));
  app.all('*', async (c) => {
    if (!hasSecret(c)) return c.json(refusal('Unauthenticated', WITHOUT_SECRET), 401);
    if (about.isReadOnly === true && c.req.method !== 'GET') {
      return c.json(refusal('Forbidden', READ_ONLY), 403);
    }
    // No request can be made of such an address.
    const { username, password } = new URL(c.req.url);
    if (username !== '' || password !== '') {
      return c.json(refusal('ArgumentError', WITH_PASSWORD), 400);
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
const WITH_PASSWORD =
  'The address of the request has a name and a password: leave them out, the secret is what counts.';

/** The code of a request that never left this machine: the page does not ask again, and knows that nothing happened. */
const NOT_SENT = 'NotSent';

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
  let signed: Readonly<Record<string, string>>;
  try {
    signed = await sign(unsigned);
  } catch (error) {
    return notSent(
      `the request cannot be signed: ${reasonOf(error)} Renew your AWS credentials and try again; if they are in variables, start 'dynabus explorer' again with new ones.`,
    );
  }
  try {
    return answerOf(
      await httpCall({
        ...unsigned,
        headers: signed,
        timeoutMs: ANSWER_MS_MAX,
        bytesMax: ANSWER_BYTES_MAX,
        // Who has hung up must not take a message that comes later.
        signal: request.signal,
      }),
    );
  } catch (error) {
    if (isUnsent(error)) {
      return notSent(
        `${address} cannot be reached (${fieldOf(error, 'code')}). Check that the namespace runs, that you have a network, and that --to has the right address.`,
      );
    }
    const message = `No answer from ${address}, so that the request may have taken effect or not: ${reasonOf(error)}`;
    return Response.json(refusal('ServiceTimeout', message), { status: 504 });
  }
}

function answerOf({ status, header, bytes }: HttpAnswer): Response {
  const headers = ANSWER_HEADERS.flatMap((name): [string, string][] => {
    const value = header(name);
    return value === undefined ? [] : [[name, value]];
  });
  return new Response(bytes.length > 0 ? new Uint8Array(bytes) : null, { status, headers });
}

function notSent(why: string): Response {
  return Response.json(refusal(NOT_SENT, `Nothing was sent, because ${why}`), { status: 503 });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
