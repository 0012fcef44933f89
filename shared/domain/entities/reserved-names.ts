import { argumentError } from '../broker-error.ts';

/**
 * Names that a new entity or rule may not have, since HTTP could not address it, or its address would be that
 * of something else (semantics N7). An existing entity or rule with such a name keeps it, and can be deleted.
 */

/** Segments of the API's own paths: a queue `orders/messages` could not be addressed. */
const RESERVED_SEGMENT = /\/(messages|sessions|subscriptions|consumers)(\/|$)/i;
/** URL parsers resolve these segments: `a/../b` becomes `b`. */
const DOT_SEGMENT = /(?:^|\/)(\.\.?)(?:\/|$)/;
/** The only address of the service itself that an entity could have; the others begin with `$`. */
const OWN_ADDRESS = /^health$/i;

/** Throws ArgumentError if a new queue or topic may not have this name. */
export function requireUnreservedEntityName(name: string): void {
  requireNoDotSegment(name);
  const [, segment] = RESERVED_SEGMENT.exec(name) ?? [];
  if (segment !== undefined) {
    throw argumentError(`The name '${name}' is not valid: the segment '${segment}' is reserved.`);
  }
  if (OWN_ADDRESS.test(name)) {
    throw argumentError(`The name '${name}' is not valid: it is an address of the service itself.`);
  }
}

/** Throws ArgumentError if a new rule may not have this name. */
export function requireUnreservedRuleName(name: string): void {
  requireNoDotSegment(name);
}

function requireNoDotSegment(name: string): void {
  const [, segment] = DOT_SEGMENT.exec(name) ?? [];
  if (segment === undefined) return;
  throw argumentError(
    `The name '${name}' is not valid: the segment '${segment}' disappears from addresses.`,
  );
}
