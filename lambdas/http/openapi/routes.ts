import { Hono } from 'hono';
import { routeNamed } from '../routing/routing.ts';
import { openApiDocument } from './document.ts';

/** The route of the OpenAPI document of the complete service. Only the manage function loads it. */
export function openApiRoutes(): Hono {
  const app = new Hono();
  const { method, path } = routeNamed('openApi');
  // Printed once, at the first request, because printing is slow and unauthenticated clients may ask for it.
  let printed: string | undefined;
  app.on(method, path, (c) => {
    printed ??= JSON.stringify(openApiDocument());
    return c.body(printed, 200, { 'Content-Type': 'application/json' });
  });
  return app;
}
