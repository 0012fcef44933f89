import type { EntitySettings } from '../../shared/broker/management.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { type EntityPath, parseEntityPath } from '../../shared/domain/entity-path.ts';
import type { HttpParts } from '../http/parts.ts';
import { authorize } from '../http/sas-token.ts';

/** Rules may be read by whoever manages or listens (semantics §14.2). Throws Unauthenticated. */
export async function authorizeReadingRules(
  parts: HttpParts,
  request: Request,
  subscription: EntityPath,
): Promise<void> {
  try {
    await authorize(parts, request, subscription, 'Manage');
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    await authorize(parts, request, subscription, 'Listen');
  }
}

/** Where the official clients put the token for a destination which the request's own does not cover. */
const SUPPLEMENTARY = {
  forwardTo: 'ServiceBusSupplementaryAuthorization',
  forwardDeadLetteredMessagesTo: 'ServiceBusDlqSupplementaryAuthorization',
} as const;

/**
 * Whoever sets up a forward needs Manage on the destination too (semantics §14.2): by the token of the
 * request, if it covers the destination, or by one in a header of its own. Throws Unauthenticated.
 */
export async function authorizeForwarding(
  parts: HttpParts,
  request: Request,
  settings: EntitySettings,
): Promise<void> {
  if (settings.kind === 'topic') return;
  for (const property of ['forwardTo', 'forwardDeadLetteredMessagesTo'] as const) {
    const name = settings[property];
    if (name === undefined) continue;
    const destination = parseEntityPath(name);
    const token =
      request.headers.get(SUPPLEMENTARY[property]) ?? request.headers.get('authorization');
    // The same question, asked of the destination's address.
    const address = new URL(`/${destination.name}`, request.url);
    const asked = new Request(address, { headers: { authorization: token ?? '' } });
    await authorize(parts, asked, destination, 'Manage');
  }
}
