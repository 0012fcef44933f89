import type { Hono } from 'hono';
import { composeDependencies } from '../../shared/app/compose-dependencies.ts';
import { functionSettings } from '../../shared/app/deployed-settings.ts';
import { type HttpDependencies, httpDependencies } from './http-dependencies.ts';
import { httpHandler } from './lambda.ts';
import { combineRoutes } from './routing/combine-routes.ts';
import { startFunction } from './start-function.ts';

/** Starts a deployed function that serves one group of routes; see `startFunction`. */
export function serveGroup(routes: (dependencies: HttpDependencies) => Hono) {
  return startFunction(() => {
    const settings = functionSettings(process.env);
    const dependencies = httpDependencies(composeDependencies(settings), settings);
    const app = combineRoutes(dependencies, routes(dependencies));
    return httpHandler(app, () => dependencies.background.settled());
  });
}
