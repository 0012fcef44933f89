import { isHealthCheck } from '../server/http/health-check.ts';
import type { WebApp } from '../server/server.ts';

/**
 * An app that calls itself unhealthy from the moment on at which it is to be left alone, so that a
 * load balancer sends nobody any more, while all is still served.
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

/** What connections are answered that a load balancer makes of its own: its checks, and nothing else. */
export function onlyHealth(app: WebApp): WebApp {
  return {
    fetch: (request, bindings) =>
      isHealthCheck(request)
        ? app.fetch(request, bindings)
        : new Response(NOT_A_CLIENT, { status: 403 }),
  };
}
