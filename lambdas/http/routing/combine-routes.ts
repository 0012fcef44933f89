import type { Hono } from 'hono';
import type { HttpDependencies } from '../http-dependencies.ts';
import { createApp, refuseWrongMethods, routeNamed } from './routing.ts';

/** The health response of the vendor's emulator; its clients wait for exactly this text. */
const HEALTHY = { status: 'healthy', message: 'Service is healthy.' } as const;

/**
 * Combines groups of routes, in order of precedence, and the health routes into one app, and adds what they
 * share: a group has routes only, since middleware of every group would run for every request. The management
 * group has its own error responses, and must come last, since its paths match every request.
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
