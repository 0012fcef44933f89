import { badValue } from './setting-checks.ts';

/**
 * Names that may not be given to anything new, since what bears one could not be addressed over HTTP, or
 * only under the address of something else. What has such a name already keeps it, and can be deleted.
 */

/** Segments that the runtime paths need for themselves: `orders/messages` would be out of reach. */
const RESERVED_SEGMENT = /\/(messages|sessions|subscriptions)(\/|$)/i;
/** Every reader of addresses takes them away, so that `a/../b` becomes `b`. */
const DOT_SEGMENT = /(?:^|\/)(\.\.?)(?:\/|$)/;
/** The one address of the service itself that an entity could have; the others begin with `$`. */
const OWN_ADDRESS = /^health$/i;

/** Refuses such a name for a queue or topic. Throws ArgumentError. */
export function requireFreeEntityName(name: string): void {
  requireNoDotSegment(name);
  const [, segment] = RESERVED_SEGMENT.exec(name) ?? [];
  if (segment !== undefined) {
    throw badValue(`The name '${name}' is not valid: the segment '${segment}' is reserved.`);
  }
  if (OWN_ADDRESS.test(name)) {
    throw badValue(`The name '${name}' is not valid: it is an address of the service itself.`);
  }
}

/** Refuses such a name for a rule. Throws ArgumentError. */
export function requireFreeRuleName(name: string): void {
  requireNoDotSegment(name);
}

function requireNoDotSegment(name: string): void {
  const [, segment] = DOT_SEGMENT.exec(name) ?? [];
  if (segment === undefined) return;
  throw badValue(
    `The name '${name}' is not valid: the segment '${segment}' disappears from addresses.`,
  );
}
