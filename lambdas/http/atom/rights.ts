import type { EntitySettings } from '../../../shared/broker/management/management.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { authorize, IamRequest } from '../routing/access.ts';
import type { RouteName } from '../routing/route-table.ts';
import { routeNamed } from '../routing/routing.ts';

/** Lets a request through to an operation of the table, or says why not. Throws Unauthenticated. */
export function authorizeOperation(
  operation: RouteName,
  dependencies: HttpDependencies,
  request: Request,
  path?: EntityPath,
): Promise<void> {
  return authorize(dependencies, request, path, routeNamed(operation).rights);
}

/** Where the official clients put the token for a destination which the request's own does not cover. */
const SUPPLEMENTARY = {
  forwardTo: 'ServiceBusSupplementaryAuthorization',
  forwardDeadLetteredMessagesTo: 'ServiceBusDlqSupplementaryAuthorization',
} as const;

/**
 * Whoever sets up a forward needs Manage on the destination too (semantics K8): by the token of the
 * request, if it covers the destination, or by one in a header of its own. IAM was only asked about
 * the address of the request, and no second question can be put to it. Throws Unauthenticated.
 */
export async function authorizeForwarding(
  dependencies: HttpDependencies,
  request: Request,
  settings: EntitySettings,
): Promise<void> {
  if (settings.kind === 'topic' || request instanceof IamRequest) return;
  for (const property of ['forwardTo', 'forwardDeadLetteredMessagesTo'] as const) {
    const name = settings[property];
    if (name === undefined) continue;
    const destination = parseEntityPath(name);
    const token =
      request.headers.get(SUPPLEMENTARY[property]) ?? request.headers.get('authorization');
    // The same question, asked of the destination's address.
    const address = new URL(`/${destination.name}`, request.url);
    const asked = new Request(address, { headers: { authorization: token ?? '' } });
    await authorize(dependencies, asked, destination, ['Manage']);
  }
}
