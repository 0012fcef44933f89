import type { Hono } from 'hono';
import type { HttpDependencies } from '../http-dependencies.ts';
import { createApp, refuseWrongMethods, routeNamed } from './routing.ts';

/** What the vendor's emulator says of itself; clients of it wait for these words. */
const HEALTHY = { status: 'healthy', message: 'Service is healthy.' } as const;

/**
 * One app of the given routes, in order of precedence, and the health of the service. Routes keep
 * the error handler they bring; the ones of management come last, since their paths fit everything.
 */
export function combineRoutes(dependencies: HttpDependencies, ...routes: readonly Hono[]): Hono {
  const app = createApp(dependencies);
  app.use(refuseWrongMethods(dependencies));
  for (const name of ['health', 'emulatorHealth'] as const) {
    const { method, path } = routeNamed(name);
    app.on(method, path, (c) => c.json(HEALTHY));
  }
  for (const group of routes) app.route('/', group);
  return app;
}
