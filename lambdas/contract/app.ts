import { Hono } from 'hono';
import { routeNamed } from '../http/routing.ts';
import { openApiDocument } from './openapi.ts';

/** The contract of the whole service, as OpenAPI 3.1. Loaded only where management is. */
export function contractRoutes(): Hono {
  const app = new Hono();
  const { method, path } = routeNamed('openApi');
  app.on(method, path, (c) => c.json(openApiDocument()));
  return app;
}
