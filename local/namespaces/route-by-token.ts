import type { WebApp } from '../../server/server.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { Namespaces, Visit } from './namespaces.ts';
import { namespaceOfToken } from './token-namespace.ts';

/** Serves each request by the namespace that its token names; requests without such a token by the default one. */
export function routeByToken(namespaces: Namespaces): WebApp {
  const own = namespaces.own.composition.app;
  return {
    fetch: async (request, bindings) => {
      const name = nameFor(request);
      if (name === undefined) return await own.fetch(request, bindings);
      const visit = tryEnter(namespaces, name);
      if (visit instanceof Response) return visit;
      try {
        return await visit.namespace.composition.app.fetch(request, bindings);
      } finally {
        visit.end();
      }
    },
  };
}

/** Undefined for a name that no namespace can have, too: the default one refuses it as clients expect it. */
function nameFor(request: Request): string | undefined {
  try {
    return namespaceOfToken(request);
  } catch (error) {
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}

function tryEnter(namespaces: Namespaces, name: string): Visit | Response {
  try {
    return namespaces.enter(name);
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    return new Response(`${error.message}\n`, { status: 503, headers: { 'Retry-After': '1' } });
  }
}
