import { isHealthCheck } from '../server/http/health-check.ts';
import type { WebApp } from '../server/server.ts';

/**
 * Wraps an app so that it reports itself unhealthy while it is draining: the load balancer then sends no new clients,
 * and present ones are still served.
 */
export function withDrainingHealth(app: WebApp, isDraining: () => boolean): WebApp {
  return {
    fetch: (request, bindings) =>
      isDraining() && isHealthCheck(request)
        ? Response.json({ status: 'draining' }, { status: 503 })
        : app.fetch(request, bindings),
  };
}

const NOT_A_CLIENT =
  'This connection has no PROXY header with the address of a client, so that only /$health is answered. Connect by way of the load balancer.';

/** An app for the load balancer's own connections, which answers only health checks. */
export function onlyHealth(app: WebApp): WebApp {
  return {
    fetch: (request, bindings) =>
      isHealthCheck(request)
        ? app.fetch(request, bindings)
        : new Response(NOT_A_CLIENT, { status: 403 }),
  };
}
