import type { Route } from '../lambdas/http/routing/route-table.ts';

/** A route of API Gateway: these requests go straight to this function. */
export interface GatewayRoute {
  readonly method: Route['method'];
  readonly path: string;
  readonly function: Route['function'];
}

/**
 * What API Gateway accepts between two slashes of a route; it refuses a `$` at deployment, so
 * `$settle` and its like are left to `$default`.
 */
const SEGMENT = /^(?:\{[\w.-]+\}|[\w.-]+)$/;

/**
 * The routes that API Gateway can decide on: those of the message functions where the entity is one
 * segment. Everything else is `$default`, the manage function, which knows the whole table.
 */
export function gatewayRoutes(table: readonly Route[]): readonly GatewayRoute[] {
  const direct = table.filter(
    ({ function: name, path }) => name !== 'manage' && path.slice(1).split('/').every(isSegment),
  );
  return [...direct.map(pick), ...direct.flatMap(longerEntityPaths)];
}

/**
 * An entity may be called `tenant/messages`, and then the word `messages` that belongs to the
 * operation stands where the shorter path has a variable: `/tenant/messages/messages/head` is no
 * renewal of a lock in `tenant`. A literal is preferred to a variable; so these go to manage,
 * which decides as the local server does.
 */
function longerEntityPaths({ method, path }: Route): readonly GatewayRoute[] {
  const variables = path.match(/\{\w+\}/g) ?? [];
  return variables
    .filter((variable) => variable !== '{entity}')
    .map((variable) => ({ method, path: path.replace(variable, 'messages'), function: 'manage' }));
}

function isSegment(segment: string): boolean {
  return SEGMENT.test(segment);
}

function pick({ method, path, function: name }: Route): GatewayRoute {
  return { method, path, function: name };
}
