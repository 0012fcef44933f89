import type { WebApp } from '../server/server.ts';
import { HEALTH_PATH } from './variables.ts';

/**
 * An app that calls itself unhealthy from the moment on at which it is to be left alone, so that a
 * load balancer sends nobody any more, while all is still served.
 */
export function withDrainingHealth(app: WebApp, isDraining: () => boolean): WebApp {
  return {
    fetch: (request, bindings) =>
      isDraining() && new URL(request.url).pathname === HEALTH_PATH
        ? Response.json({ status: 'draining' }, { status: 503 })
        : app.fetch(request, bindings),
  };
}
