import { EXPLORER_PATH } from '../../lambdas/http/explorer/routes.ts';
import type { WebApp } from '../../server/server.ts';

/**
 * Shows browsers the explorer at the address of the server. Other clients get the list there that they expect.
 */
export function withStartPage(app: WebApp): WebApp {
  return {
    fetch: (request, bindings) => {
      const isOfBrowser = request.headers.get('Accept')?.includes('text/html') === true;
      const isStart = request.method === 'GET' && new URL(request.url).pathname === '/';
      if (!isOfBrowser || !isStart) return app.fetch(request, bindings);
      const page = new Request(new URL(EXPLORER_PATH, request.url), request);
      return app.fetch(page, bindings);
    },
  };
}
