import { Hono } from 'hono';
import { cors } from 'hono/cors';
import type { WebApp } from '../server/server.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];
/** How long a browser need not ask again. */
const PREFLIGHT_SECONDS = 600;

/**
 * An app that browsers let pages of some origins use (CORS): they may send any header field, and read
 * every field of an answer, since the properties of a message are among them. For all other requests it
 * is the app alone.
 */
export function withAllowedOrigins(app: WebApp, origins: readonly string[]): WebApp {
  if (origins.length === 0) return app;
  const allowed = new Set(origins);
  const shared = new Hono<{ Bindings: object }>();
  shared.use(cors({ origin: [...origins], allowMethods: METHODS, maxAge: PREFLIGHT_SECONDS }));
  shared.all('*', async (c) => {
    const answer = await app.fetch(c.req.raw, c.env);
    const { body, status, statusText } = answer;
    const headers = new Headers(answer.headers);
    headers.set('Access-Control-Expose-Headers', [...answer.headers.keys()].join(', '));
    return new Response(body, { status, statusText, headers });
  });
  return {
    fetch: (request, bindings) =>
      allowed.has(request.headers.get('Origin') ?? '')
        ? shared.fetch(request, bindings)
        : app.fetch(request, bindings),
  };
}
