import { isHealthCheck } from '../server/http/health-check.ts';
import type { WebApp } from '../server/server.ts';

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
