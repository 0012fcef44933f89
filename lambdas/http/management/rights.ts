import type { EntitySettings } from '../../../shared/broker/management/describe-entity.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { FORWARDING } from '../../../shared/domain/entities/forwarding-settings.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { authorize, IamRequest } from '../routing/access.ts';
import type { RouteName } from '../routing/route-table.ts';
import { routeNamed } from '../routing/routing.ts';

/** Authorizes a request for an operation of the route table. Throws as `authorize`. */
export function authorizeFor(
  operation: RouteName,
  dependencies: HttpDependencies,
  request: Request,
  path?: EntityPath,
): Promise<void> {
  return authorize(dependencies, request, path, routeNamed(operation).rights);
}

/**
 * The headers in which the official clients send a token for a destination that the request's token does
 * not cover.
 */
const SUPPLEMENTARY = {
  forwardTo: 'ServiceBusSupplementaryAuthorization',
  forwardDeadLetteredMessagesTo: 'ServiceBusDlqSupplementaryAuthorization',
} as const;

/**
 * Requires Manage on the destinations of forwarding in `settings` (semantics K8, F2): by the token of the
 * request, or by a supplementary one in a header. A request that IAM authorized passes: IAM evaluated only
 * the request's address, and a function cannot ask it about another one. Throws Unauthenticated,
 * ServiceBusy.
 */
export async function authorizeForwarding(
  dependencies: HttpDependencies,
  request: Request,
  settings: EntitySettings,
): Promise<void> {
  if (settings.kind === 'topic' || request instanceof IamRequest) return;
  for (const property of FORWARDING) {
    const name = settings[property];
    if (name === undefined) continue;
    const destination = parseEntityPath(name);
    const token =
      request.headers.get(SUPPLEMENTARY[property]) ?? request.headers.get('authorization');
    const address = new URL(`/${destination.name}`, request.url);
    const readdressed = new Request(address, { headers: { authorization: token ?? '' } });
    await authorize(dependencies, readdressed, destination, ['Manage']);
  }
}
