import { Hono } from 'hono';
import { routeNamed } from '../routing/routing.ts';
import { openApiDocument } from './document.ts';

/** The contract of the whole service, as OpenAPI 3.1. Loaded only where management is. */
export function contractRoutes(): Hono {
  const app = new Hono();
  const { method, path } = routeNamed('openApi');
  // Printed when it is first asked for, and never again: it takes long, and anybody may ask.
  let printed: string | undefined;
  app.on(method, path, (c) => {
    printed ??= JSON.stringify(openApiDocument());
    return c.body(printed, 200, { 'Content-Type': 'application/json' });
  });
  return app;
}
