import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { pathFault, withoutFinalSlashes } from '../../../shared/auth/url-path.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { badRequest } from '../format/bad-request.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { authorize, confirmRight } from './access.ts';
import { BoundedRouter } from './bounded-router.ts';
import { errorHandler, unknownRouteResponse } from './error-response.ts';
import { ROUTES, type Route, type RouteName } from './route-table.ts';

/** Serves one operation on the entity that the path names; the caller has the right to it. */
export type EntityHandler = (
  c: Context,
  path: EntityPath,
  /** Checks the caller's right again, which may end during a wait. Throws as `confirmRight`. */
  admit: () => Promise<void>,
) => Response | Promise<Response>;

/** What follows an entity on the paths of its messages and sessions, with the slash before it. */
const TAIL = /(?<=.)\/(?:messages(?:\/[^/]*){0,2}|sessions\/\$[^/]+)$/i;

/**
 * An app with all that the routes of messages share: paths that match without regard to case
 * (semantics N3) and have a bound, refusals as answers, and an answer for unknown routes.
 */
export function createApp(dependencies: HttpDependencies): Hono {
  const app = new Hono({ getPath: routedPath, router: new BoundedRouter() });
  app.onError(errorHandler(dependencies, 'runtime'));
  app.use(refuseBrokenPaths);
  app.notFound((c) => unknownRouteResponse(c, dependencies, methodsAt(c.req.path)));
  return app;
}

/**
 * The path as routes see it: still percent-encoded, without a closing slash, and in lower case
 * where words of ours can stand. The entity's name keeps its spelling.
 */
function routedPath(request: Request): string {
  const { pathname } = new URL(request.url);
  const path = withoutFinalSlashes(pathname);
  return path === '' ? '/' : path.replace(TAIL, (tail) => tail.toLowerCase());
}

/** Refuses paths that mean something else than they say, before anything is done. */
const refuseBrokenPaths: MiddlewareHandler = async (c, next) => {
  const { method, url } = c.req.raw;
  const fault = pathFault(method, new URL(url).pathname);
  if (fault !== undefined) throw badRequest(fault);
  await next();
};

/** Serves an operation of the table: with the path read and the token checked for its right. */
export function serve(
  app: Hono,
  dependencies: HttpDependencies,
  name: RouteName,
  handle: EntityHandler,
): void {
  const { method, path: template, rights } = routeNamed(name);
  app.on(method, honoPath(template), async (c) => {
    requirePercentEncoding(c.req.path);
    const path = parseEntityPath(c.req.param('entity') ?? '');
    await authorize(dependencies, c.req.raw, path, rights);
    return handle(c, path, () => confirmRight(dependencies, c.req.raw, path, rights));
  });
}

/** The row of one operation. */
export function routeNamed(name: RouteName): Route {
  const route = ROUTES.find((row) => row.name === name);
  assert(route !== undefined, 'every route name stands in the table');
  return route;
}

/** `/{entity}/messages/{message}` as Hono writes it; words of ours in lower case, as in `routedPath`. */
export function honoPath(template: string): string {
  return template.replaceAll(/\{(\w+)\}|[^{]+/g, (text, name?: string) =>
    name === undefined ? text.toLowerCase() : name === 'entity' ? ':entity{.+}' : `:${name}`,
  );
}

/** The end of a path that can be no entity's: `…/messages/head`, `…/messages/$purge`, `/$health`. */
const RESERVED_END = /(?<=.)\/(?:messages\/(?:head|\$[^/]+)|sessions\/\$[^/]+)$|^\/\$[^/]+$/i;

const reservedEnd = (path: string): string | undefined =>
  RESERVED_END.exec(path)?.[0].toLowerCase();

/** All but management, whose `/{entity}` fits every path and so says nothing about it. */
const KNOWN_PATHS = ROUTES.filter(({ kind }) => kind !== 'management').map(({ method, path }) => ({
  method,
  pattern: pathPattern(path),
  end: reservedEnd(path),
}));

/** The methods under which the table knows a path; empty if it does not know it at all. */
function methodsAt(path: string): readonly string[] {
  return KNOWN_PATHS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
}

/**
 * Answers a wrong method on a path that ends in a word of ours: management, to which all paths are
 * entities, would find fault with the name.
 */
export function refuseWrongMethods(dependencies: HttpDependencies): MiddlewareHandler {
  return async (c, next) => {
    const end = reservedEnd(c.req.path);
    if (end === undefined) return next();
    const known = KNOWN_PATHS.filter((route) => route.end === end);
    const methods: readonly string[] = known.map(({ method }) => method);
    const asked = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const isRight = methods.length === 0 || methods.includes(asked);
    return isRight ? next() : unknownRouteResponse(c, dependencies, methods);
  };
}

function pathPattern(template: string): RegExp {
  const source = template
    .replaceAll(/[$.]/g, '\\$&')
    .replaceAll('{entity}', '.+')
    .replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${source}$`, 'i');
}

/** Hono would leave a bad escape as it stands, and the entity would get an odd name. */
function requirePercentEncoding(path: string): void {
  try {
    decodeURIComponent(path);
  } catch (error) {
    throw badRequest('The path is not percent-encoded UTF-8.', error);
  }
}
