import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { WebApp } from '../server/server.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import type { MovableClock } from './movable-clock.ts';

const PATH = '/$clock';

const USAGE = 'Say either {"advanceSeconds": 60} or {"now": "2030-01-01T00:00:00Z"}.';
const JSON_TYPE = /^application\/json *(?:;|$)/i;

export interface ClockRules {
  /** Called after each move; the answer waits for it. */
  readonly afterMove: () => Promise<void>;
  /** Why a request may not move the clock; nothing where it may. */
  readonly authorize: (request: Request) => Promise<string | undefined>;
}

interface Move {
  readonly advanceSeconds?: unknown;
  readonly now?: unknown;
}

/**
 * An app with the clock beside it, for laptops and tests only:
 * `GET /$clock` tells the time, `POST /$clock` moves it by `{"advanceSeconds": n}` or to
 * `{"now": "2030-01-01T00:00:00Z"}`. It answers after `afterMove`, when what came due is done. What
 * a page of another site can have a browser send is refused: 403 and 415.
 */
export function withClockRoutes(
  app: WebApp,
  clock: MovableClock,
  { afterMove, authorize }: ClockRules,
): WebApp {
  const routes = clockRoutes(clock, { afterMove, authorize });
  return {
    fetch: (request, bindings) =>
      isClock(request) ? routes.fetch(request) : app.fetch(request, bindings),
  };
}

/** Looked at by hand: routing every request a second time would cost all for the sake of few. */
function isClock({ url }: Request): boolean {
  return url.includes(PATH) && new URL(url).pathname === PATH;
}

function clockRoutes(clock: MovableClock, { afterMove, authorize }: ClockRules): Hono {
  const routes = new Hono();
  const time = (c: Context) => c.json({ now: new Date(clock.now()).toISOString() });

  const limit = bodyLimit({
    maxSize: BUDGETS.localServer.clockRequestBytes,
    onError: (c) => c.json({ error: `The body is too large. ${USAGE}` }, 413),
  });

  routes.get(PATH, time);
  routes.post(PATH, admit(authorize), limit, async (c) => {
    const body: unknown = await c.req.json().catch(() => undefined);
    const refusal = move(clock, typeof body === 'object' && body !== null ? body : {});
    if (refusal !== undefined) return c.json({ error: refusal }, 400);
    await afterMove();
    return time(c);
  });
  return routes;
}

/** Turns away whom the clock is not for, before the body is read. */
function admit(authorize: ClockRules['authorize']): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.header('Sec-Fetch-Site') === 'cross-site') {
      return c.json({ error: 'A page of another site may not move the clock.' }, 403);
    }
    if (!JSON_TYPE.test(c.req.header('Content-Type') ?? '')) {
      return c.json(
        { error: 'The clock is moved by a body of Content-Type application/json.' },
        415,
      );
    }
    const refusal = await authorize(c.req.raw);
    if (refusal !== undefined) return c.json({ error: refusal }, 401);
    return await next();
  };
}

/** Moves the clock, or says why not. */
function move(clock: MovableClock, { advanceSeconds, now }: Move): string | undefined {
  try {
    if (typeof advanceSeconds === 'number') clock.advance(inMs(advanceSeconds));
    else if (typeof now === 'string') clock.set(Date.parse(now));
    else return USAGE;
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

/** 1.1 * 1000 is no whole number, though 1.1 s are whole milliseconds; 0.0005 s are not. */
function inMs(seconds: number): number {
  const rounded = Math.round(seconds * 1000);
  return rounded / 1000 === seconds ? rounded : seconds * 1000;
}
