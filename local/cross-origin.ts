import { Hono } from 'hono';
import { cors } from 'hono/cors';
import type { WebApp } from '../server/server.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];
/** How long a browser may cache the answer to a preflight request. */
const PREFLIGHT_SECONDS = 600;

/**
 * Adds CORS to an app for pages of some origins, for example `http://localhost:3000`. The pages may send any
 * header field, and read every field of a response, because message properties are header fields. Other
 * requests reach the app unchanged.
 */
export function withAllowedOrigins(app: WebApp, origins: readonly string[]): WebApp {
  if (origins.length === 0) return app;
  const allowed = new Set(origins);
  const corsApp = new Hono<{ Bindings: object }>();
  corsApp.use(cors({ origin: [...origins], allowMethods: METHODS, maxAge: PREFLIGHT_SECONDS }));
  corsApp.all('*', async (c) => {
    const response = await app.fetch(c.req.raw, c.env);
    const { body, status, statusText } = response;
    const headers = new Headers(response.headers);
    headers.set('Access-Control-Expose-Headers', [...response.headers.keys()].join(', '));
    return new Response(body, { status, statusText, headers });
  });
  return {
    fetch: (request, bindings) =>
      allowed.has(request.headers.get('Origin') ?? '')
        ? corsApp.fetch(request, bindings)
        : app.fetch(request, bindings),
  };
}
