import { type Context, Hono } from 'hono';
import type { WebApp } from '../server/server.ts';
import type { MovableClock } from './movable-clock.ts';

const PATH = '/$clock';

interface Move {
  readonly advanceSeconds?: unknown;
  readonly now?: unknown;
}

/**
 * An app with the clock beside it, for laptops and tests only:
 * `GET /$clock` tells the time, `POST /$clock` moves it by `{"advanceSeconds": n}` or to
 * `{"now": "2030-01-01T00:00:00Z"}`. It answers after `afterMove`, when what came due is done.
 */
export function withClockRoutes(
  app: WebApp,
  clock: MovableClock,
  afterMove: () => Promise<void>,
): WebApp {
  const routes = clockRoutes(clock, afterMove);
  // Looked at by hand: routing every request a second time would cost all for the sake of few.
  return {
    fetch: (request, bindings) =>
      request.url.endsWith(PATH) ? routes.fetch(request) : app.fetch(request, bindings),
  };
}

function clockRoutes(clock: MovableClock, afterMove: () => Promise<void>): Hono {
  const routes = new Hono();
  const time = (c: Context) => c.json({ now: new Date(clock.now()).toISOString() });

  routes.get(PATH, time);
  routes.post(PATH, async (c) => {
    const body: unknown = await c.req.json().catch(() => undefined);
    const refusal = move(clock, typeof body === 'object' && body !== null ? body : {});
    if (refusal !== undefined) return c.json({ error: refusal }, 400);
    await afterMove();
    return time(c);
  });
  return routes;
}

/** Moves the clock, or says why not. */
function move(clock: MovableClock, { advanceSeconds, now }: Move): string | undefined {
  try {
    if (typeof advanceSeconds === 'number') clock.advance(advanceSeconds * 1000);
    else if (typeof now === 'string') clock.set(Date.parse(now));
    else return 'Say either {"advanceSeconds": 60} or {"now": "2030-01-01T00:00:00Z"}.';
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}
