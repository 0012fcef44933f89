import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { WebApp } from '../server/server.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import type { MovableClock } from './movable-clock.ts';

const PATH = '/$clock';

const USAGE = 'Send either {"advanceSeconds": 60} or {"now": "2030-01-01T00:00:00Z"}.';
const JSON_TYPE = /^application\/json *(?:;|$)/i;

/** What the clock routes call. */
export interface ClockHooks {
  /** Called after each move. The response waits for it. */
  readonly afterMove: () => Promise<void>;
  /** Resolves with the reason if a request may not move the clock, and with undefined if it may. */
  readonly authorize: (request: Request) => Promise<string | undefined>;
}

interface MoveRequest {
  readonly advanceSeconds?: unknown;
  readonly now?: unknown;
}

/**
 * Adds clock routes to an app, for laptops and tests only. `GET /$clock` returns the time. `POST /$clock` moves
 * the clock by `{"advanceSeconds": n}` or to `{"now": "2030-01-01T00:00:00Z"}`, and answers after `afterMove`,
 * when the work that came due is done. It refuses requests that a page of another site can make a browser send,
 * with 403 or 415.
 */
export function withClockRoutes(
  app: WebApp,
  clock: MovableClock,
  { afterMove, authorize }: ClockHooks,
): WebApp {
  const routes = clockRoutes(clock, { afterMove, authorize });
  return {
    fetch: (request, bindings) =>
      isClockRequest(request) ? routes.fetch(request) : app.fetch(request, bindings),
  };
}

/** Whether a request is for the clock. A second router would cost every request time for the sake of few. */
function isClockRequest({ url }: Request): boolean {
  return url.includes(PATH) && new URL(url).pathname === PATH;
}

function clockRoutes(clock: MovableClock, { afterMove, authorize }: ClockHooks): Hono {
  const routes = new Hono();
  const sendTime = (c: Context) => c.json({ now: new Date(clock.now()).toISOString() });

  const limit = bodyLimit({
    maxSize: BUDGETS.localServer.clockRequestBytes,
    onError: (c) => c.json({ error: `The body is too large. ${USAGE}` }, 413),
  });

  routes.get(PATH, sendTime);
  routes.post(PATH, requireAdmission(authorize), limit, async (c) => {
    const body: unknown = await c.req.json().catch(() => undefined);
    const refusal = moveClock(clock, typeof body === 'object' && body !== null ? body : {});
    if (refusal !== undefined) return c.json({ error: refusal }, 400);
    await afterMove();
    return sendTime(c);
  });
  return routes;
}

/** Refuses requests that may not move the clock, before their body is read. */
function requireAdmission(authorize: ClockHooks['authorize']): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.header('Sec-Fetch-Site') === 'cross-site') {
      return c.json({ error: 'A page of another site may not move the clock.' }, 403);
    }
    if (!JSON_TYPE.test(c.req.header('Content-Type') ?? '')) {
      return c.json(
        { error: 'The body must have the Content-Type application/json to move the clock.' },
        415,
      );
    }
    const refusal = await authorize(c.req.raw);
    if (refusal !== undefined) return c.json({ error: refusal }, 401);
    return await next();
  };
}

/** Moves the clock, or returns the reason why it cannot. */
function moveClock(clock: MovableClock, { advanceSeconds, now }: MoveRequest): string | undefined {
  try {
    if (typeof advanceSeconds === 'number') clock.advance(toMilliseconds(advanceSeconds));
    else if (typeof now === 'string') clock.set(Date.parse(now));
    else return USAGE;
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

/**
 * Converts without rounding errors: 1.1 s are whole milliseconds, although 1.1 * 1000 is not a whole number. A
 * fraction of a millisecond, as in 0.0005 s, stays a fraction.
 */
function toMilliseconds(seconds: number): number {
  const rounded = Math.round(seconds * 1000);
  return rounded / 1000 === seconds ? rounded : seconds * 1000;
}
