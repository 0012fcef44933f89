import type { Route } from '../lambdas/http/routing/route-table.ts';

/** A route of API Gateway to one function. */
export interface ApiGatewayRoute {
  readonly method: Route['method'];
  readonly path: string;
  readonly function: Route['function'];
}

/**
 * A path segment that API Gateway accepts in a route. It refuses a `$` at deployment, so paths such as `$settle` use
 * `$default`.
 */
const SEGMENT = /^(?:\{[\w.-]+\}|[\w.-]+)$/;

/**
 * The routes that API Gateway can match: those of the message functions for entities of one segment. Everything else
 * goes to `$default`, the manage function, which has the whole route table.
 */
export function apiGatewayRoutes(table: readonly Route[]): readonly ApiGatewayRoute[] {
  const direct = table.filter(
    ({ function: name, path }) => name !== 'manage' && path.slice(1).split('/').every(isSegment),
  );
  return [...direct.map(pick), ...direct.flatMap(longerEntityPaths)];
}

/**
 * Routes for longer entity paths that look like a shorter one. An entity that an earlier version created may be called
 * `tenant/messages`; then `/tenant/messages/messages/head` is a receive from it and not the renewal of a lock in
 * `tenant`. API Gateway prefers literals to variables, so these routes go to the manage function, which decides as the
 * local server does.
 */
function longerEntityPaths({ method, path }: Route): readonly ApiGatewayRoute[] {
  const variables = path.match(/\{\w+\}/g) ?? [];
  return variables
    .filter((variable) => variable !== '{entity}')
    .map((variable) => ({ method, path: path.replace(variable, 'messages'), function: 'manage' }));
}

function isSegment(segment: string): boolean {
  return SEGMENT.test(segment);
}

function pick({ method, path, function: name }: Route): ApiGatewayRoute {
  return { method, path, function: name };
}
