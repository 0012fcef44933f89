import { type Context, Hono, type MiddlewareHandler } from 'hono';
import type { WebApp } from '../../server/server.ts';
import { BrokerError, type BrokerErrorCode } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { ConfigPort } from './config-port.ts';
import { jsonOf, limitBody, refuseOtherSites } from './control-admission.ts';
import { namespaceName, notANamespaceName } from './key-name.ts';
import { moveClock } from './move-clock.ts';
import type { RunningNamespace } from './running-namespace.ts';
import { namespaceOfToken } from './token-namespace.ts';

const { clockRequestBytes: CLOCK_BYTES, configBytes: CONFIG_BYTES } = BUDGETS.localServer;
const PATHS: ReadonlySet<string> = new Set([
  '/$clock',
  '/$reset',
  '/$config',
  '/$namespace',
  '/$namespaces',
]);
const STATUS: Partial<Record<BrokerErrorCode, 401 | 403 | 409 | 503 | 504>> = {
  Unauthenticated: 401,
  QuotaExceeded: 403,
  InvalidOperation: 409,
  ConflictInProgress: 409,
  MessagingEntityAlreadyExists: 409,
  ServiceBusy: 503,
  ServiceTimeout: 504,
};

/** A namespace, as the control routes use it. */
export type ControlledNamespace = Pick<
  RunningNamespace,
  'name' | 'clock' | 'sweep' | 'reset' | 'configure'
>;

/** The namespaces, as the control routes use them. */
export interface ControlledNamespaces<Namespace extends ControlledNamespace> {
  readonly own: Namespace;
  readonly running: Iterable<Namespace>;
  enter(name: string): { readonly namespace: Namespace; end(): void };
  keep(namespace: Namespace): void;
  delete(namespace: Namespace): Promise<void>;
}

/** What the control routes call. */
export interface ControlHooks<Namespace extends ControlledNamespace> {
  readonly namespaces: ControlledNamespaces<Namespace>;
  /** Resolves with the reason if a request may not control a namespace, and with undefined if it may. */
  readonly authorize: (request: Request, namespace: Namespace) => Promise<string | undefined>;
  readonly config: ConfigPort;
  readonly reportError: (error: unknown) => void;
}

/**
 * Adds routes that control namespaces to an app, for laptops and tests only: `/$clock`, `/$reset`, `/$config`,
 * `/$namespace` and `/$namespaces`. They act on the namespace of `?namespace=NAME`, or else on that of the request's
 * token, which begins if it does not run. They refuse requests that a page of another site can make a browser send.
 */
export function withControlRoutes<Namespace extends ControlledNamespace>(
  app: WebApp,
  hooks: ControlHooks<Namespace>,
): WebApp {
  const routes = controlRoutes(hooks);
  return {
    fetch: (request, bindings) =>
      isControlRequest(request) ? routes.fetch(request) : app.fetch(request, bindings),
  };
}

/** Whether a request is for these routes. A second router would cost every request time for the sake of few. */
function isControlRequest({ url }: Request): boolean {
  return url.includes('/$') && PATHS.has(new URL(url).pathname);
}

/** The environment of a request for one namespace. */
interface OneNamespace<Namespace> {
  Variables: { namespace: Namespace };
}

function controlRoutes<Namespace extends ControlledNamespace>(
  hooks: ControlHooks<Namespace>,
): Hono<OneNamespace<Namespace>> {
  const { namespaces, config } = hooks;
  const routes = new Hono<OneNamespace<Namespace>>();
  const change = (what: string) => [refuseOtherSites(what), changing(hooks)] as const;
  routes.onError(refusing(hooks));

  routes.get('/$namespaces', async (c) => {
    const refusal = await hooks.authorize(c.req.raw, namespaces.own);
    if (refusal !== undefined) return c.json({ error: refusal }, 401);
    return c.json([...namespaces.running].map(summary));
  });

  routes.use(visiting(namespaces));
  routes.get('/$clock', (c) => c.json({ now: timeOf(c.get('namespace')) }));
  routes.post('/$clock', ...change('move the clock'), limitBody(CLOCK_BYTES), async (c) => {
    const namespace = c.get('namespace');
    const refusal = moveClock(namespace.clock, await jsonOf(c));
    if (refusal !== undefined) return c.json({ error: refusal }, 400);
    await namespace.sweep();
    return c.json({ now: timeOf(namespace) });
  });
  routes.post('/$reset', ...change('reset the namespace'), limitBody(CLOCK_BYTES), async (c) => {
    await c.get('namespace').reset();
    return c.json(summary(c.get('namespace')));
  });
  routes.put(
    '/$config',
    ...change('configure the namespace'),
    limitBody(CONFIG_BYTES),
    async (c) => {
      const body = await jsonOf(c);
      if (body === undefined) return c.json({ error: 'The body is not JSON.' }, 400);
      await c.get('namespace').configure(config.parse(body));
      return c.json(summary(c.get('namespace')));
    },
  );
  routes.delete('/$namespace', ...change('delete the namespace'), async (c) => {
    await namespaces.delete(c.get('namespace'));
    return c.body(null, 204);
  });
  return routes;
}

const timeOf = ({ clock }: ControlledNamespace): string => new Date(clock.now()).toISOString();

const summary = (namespace: ControlledNamespace) => ({
  name: namespace.name,
  now: timeOf(namespace),
});

/** Finds the namespace of a request, and keeps it for the time of the request. */
function visiting<Namespace extends ControlledNamespace>(
  namespaces: ControlledNamespaces<Namespace>,
): MiddlewareHandler<OneNamespace<Namespace>> {
  return async (c, next) => {
    const named = c.req.query('namespace');
    const name = named === undefined ? namespaceOfToken(c.req.raw) : namespaceName(named);
    if (name === undefined && named !== undefined) {
      return c.json({ error: notANamespaceName(named) }, 400);
    }
    const visit = namespaces.enter(name ?? namespaces.own.name);
    c.set('namespace', visit.namespace);
    try {
      return await next();
    } finally {
      visit.end();
    }
  };
}

/** Requires the right to change the namespace, before the body is read; the namespace then runs from now on. */
function changing<Namespace extends ControlledNamespace>({
  namespaces,
  authorize,
}: ControlHooks<Namespace>): MiddlewareHandler<OneNamespace<Namespace>> {
  return async (c, next) => {
    const namespace = c.get('namespace');
    const refusal = await authorize(c.req.raw, namespace);
    if (refusal !== undefined) return c.json({ error: refusal }, 401);
    namespaces.keep(namespace);
    return await next();
  };
}

function refusing<Namespace extends ControlledNamespace>({
  config,
  reportError,
}: ControlHooks<Namespace>) {
  return (error: Error, c: Context): Response => {
    if (config.isRefusal(error)) return c.json({ error: error.message }, 400);
    if (error instanceof BrokerError) {
      return c.json({ error: error.message }, STATUS[error.code] ?? 400);
    }
    reportError(error);
    return c.json({ error: 'The local server failed; its output tells why.' }, 500);
  };
}
