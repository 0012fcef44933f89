import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { withoutFinalSlashes } from '../../../shared/auth/sas-token-text.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { requireUnreservedEntityName } from '../../../shared/domain/entities/reserved-names.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { authorize, confirmRight } from './access.ts';
import { BoundedRouter } from './bounded-router.ts';
import { errorHandler, unknownRouteResponse } from './error-response.ts';
import { MANAGEMENT_ROUTES } from './management-routes.ts';
import { ROUTES, type Route, type RouteName } from './route-table.ts';
import { pathFault } from './url-path.ts';

/** Serves one operation on the entity of the path, for an authorized caller. */
export type EntityHandler = (
  c: Context,
  path: EntityPath,
  /** Checks the caller's right again, since it may end during a wait. Throws as `confirmRight`. */
  confirmRight: () => Promise<void>,
) => Response | Promise<Response>;

/** The part of a path after the entity, `/messages…` or `/sessions/$…`. */
const TAIL = /(?<=.)\/(?:messages(?:\/[^/]*){0,2}|sessions\/\$[^/]+)$/i;

/**
 * Creates an app with what all routes share: case-insensitive paths (semantics N3) of bounded length,
 * error responses, and a response for unknown routes.
 */
export function createApp(dependencies: HttpDependencies): Hono {
  const app = new Hono({ getPath: routedPath, router: new BoundedRouter() });
  app.onError(errorHandler(dependencies, 'runtime'));
  app.use(refuseBrokenPaths);
  app.notFound((c) => unknownRouteResponse(c, dependencies, methodsAt(c.req.path)));
  return app;
}

/**
 * The path that the router matches: percent-encoded, without trailing slashes, and with the part after the
 * entity in lower case. The entity's name keeps its spelling.
 */
function routedPath(request: Request): string {
  const { pathname } = new URL(request.url);
  const path = withoutFinalSlashes(pathname);
  return path === '' ? '/' : path.replace(TAIL, (tail) => tail.toLowerCase());
}

/** Refuses malformed paths, such as those with empty segments, before any route runs. */
const refuseBrokenPaths: MiddlewareHandler = async (c, next) => {
  const { method, url } = c.req.raw;
  const fault = pathFault(method, new URL(url).pathname);
  if (fault !== undefined) throw argumentError(fault);
  await next();
};

/**
 * Adds the route of an operation of the table to an app. The route parses the entity path, authorizes the
 * request for the operation's rights, then calls `handle`. It throws ArgumentError for a malformed path, and
 * as `authorize`.
 */
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

/** The row of an operation in the route table. */
export function routeNamed(name: RouteName): Route {
  const route = ROUTES.find((row) => row.name === name);
  assert(route !== undefined, 'the table has every route name');
  return route;
}

/** A path of the table in Hono's syntax, its literals in lower case as `routedPath` has them. */
export function honoPath(template: string): string {
  return template.replaceAll(/\{(\w+)\}|[^{]+/g, (text, name?: string) =>
    name === undefined ? text.toLowerCase() : name === 'entity' ? ':entity{.+}' : `:${name}`,
  );
}

/** The end of a path that cannot name an entity: `…/messages/head`, `…/messages/$purge`, `/$health`. */
const RESERVED_END = /(?<=.)\/(?:messages\/(?:head|\$[^/]+)|sessions\/\$[^/]+)$|^\/\$[^/]+$/i;

const reservedEnd = (path: string): string | undefined =>
  RESERVED_END.exec(path)?.[0].toLowerCase();

/** The routes without those of management, whose `/{entity}` matches every path. */
const KNOWN_PATHS = ROUTES.filter(({ kind }) => kind !== 'management').map(({ method, path }) => ({
  method,
  pattern: pathPattern(path),
  end: reservedEnd(path),
}));

/** The methods that the table has for a path; empty for an unknown path. */
function methodsAt(path: string): readonly string[] {
  const methods = KNOWN_PATHS.filter(({ pattern }) => pattern.test(path)).map(
    ({ method }) => method,
  );
  return methods.length > 0 ? methods : managementMethodsAt(path);
}

const MANAGEMENT_PATHS = MANAGEMENT_ROUTES.map(({ method, path }) => ({
  method,
  path,
  pattern: pathPattern(path),
}));

/** The methods that management has for a path: those of the list, view or rule there, or else of the entity. */
function managementMethodsAt(path: string): readonly string[] {
  const methods = listMethodsAt(path);
  return methods.length === 0 && mayNameEntity(path) ? methodsOf(ENTITY_PATH) : methods;
}

const ENTITY_PATH = '/{entity}';

/** The methods of the list, view or rule at a path; empty for any other path. */
function listMethodsAt(path: string): readonly string[] {
  const row = MANAGEMENT_PATHS.find(({ pattern }) => pattern.test(decoded(path)));
  return row === undefined || row.path === ENTITY_PATH ? [] : methodsOf(row.path);
}

const methodsOf = (template: string): readonly string[] =>
  MANAGEMENT_PATHS.filter(({ path }) => path === template).map(({ method }) => method);

/** Whether a new entity may have this path. */
function mayNameEntity(path: string): boolean {
  try {
    const { name, subQueue, subscription } = parseEntityPath(decodeURIComponent(path));
    requireUnreservedEntityName(subscription?.topic ?? name);
    return subQueue === 'main';
  } catch {
    return false;
  }
}

/** The path without its escapes, where they are valid. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * Middleware that answers 405 for a wrong method on a path with a reserved end, and on the path of a list or a view.
 * Without it the management routes, which take every path for an entity, would refuse the name.
 */
export function refuseWrongMethods(dependencies: HttpDependencies): MiddlewareHandler {
  return async (c, next) => {
    const methods = methodsOfOthers(c.req.path);
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const isAllowed = methods.length === 0 || methods.includes(method);
    return isAllowed ? next() : unknownRouteResponse(c, dependencies, methods);
  };
}

/** The methods of a path that cannot name an entity; empty for any other path. */
function methodsOfOthers(path: string): readonly string[] {
  const end = reservedEnd(path);
  const known = KNOWN_PATHS.filter((route) => end !== undefined && route.end === end);
  return known.length > 0 ? known.map(({ method }) => method) : listMethodsAt(path);
}

function pathPattern(template: string): RegExp {
  const source = template
    .replaceAll(/[$.]/g, '\\$&')
    // `…/subscriptions/consumers` is a subscription of that name.
    .replace('/consumers', '(?<!/subscriptions)/consumers')
    .replaceAll(/\{(?:entity|topic)\}/g, '.+')
    .replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${source}$`, 'i');
}

/** Refuses bad escapes, which Hono would keep as they are in the entity's name. Throws ArgumentError. */
function requirePercentEncoding(path: string): void {
  try {
    decodeURIComponent(path);
  } catch (error) {
    throw argumentError('The path is not percent-encoded UTF-8.', error);
  }
}
