import type { SettlementAction } from '../../broker/broker.ts';
import type { Block } from '../../domain/blocks/block.ts';
import { argumentError } from '../../domain/broker-error.ts';
import { LIMITS } from '../../domain/limits.ts';
import { propertiesBytes } from '../../domain/messages/property-limits.ts';
import { type Properties, text } from '../../domain/messages/property-value.ts';
import { decodeOverlay, type Overlay } from '../blocks/payloads.ts';

type Action = SettlementAction | { readonly kind: 'renew' };

/** The changed properties of a message, bytes: twice what one settlement may change. */
const CHANGED_BYTES_MAX = 2 * LIMITS.propertiesBytes;

/**
 * Throws ArgumentError if the changed properties of a message would be too long together with the earlier changes: each
 * abandon could add others, until the item is full and nobody can lock the message any more.
 */
export function requireRoom(block: Block, action: Action): void {
  const { overlay } = block.payload;
  // A reason is short, and whoever dead-letters the message must be able to say why.
  const properties = 'properties' in action ? action.properties : undefined;
  if (overlay === undefined || properties === undefined) return;
  const bytes = propertiesBytes({ ...decodeOverlay(overlay).properties, ...properties });
  if (bytes <= CHANGED_BYTES_MAX) return;
  throw argumentError(
    `With this change, the changed properties of the message are ${bytes} bytes long; the limit is ${CHANGED_BYTES_MAX}.`,
  );
}

/**
 * The changes that a settlement makes to the properties of messages that it moves (semantics #12, #13).
 * A receiver dead-letters with a reason of its own (semantics #C11), or with none.
 */
export function overlayOf(action: Action): Overlay {
  if (action.kind === 'complete' || action.kind === 'renew') return { properties: {} };
  const properties = action.properties ?? {};
  if (action.kind !== 'deadLetter') return { properties };
  const { reason, description } = action;
  return {
    properties: {
      ...properties,
      ...reasonProperties(reason, description),
    },
  };
}

/** The properties that say why; none for what was not given (semantics #25, #26). */
export function reasonProperties(reason?: string, description?: string): Properties {
  return {
    ...(reason === undefined ? {} : { DeadLetterReason: text(reason) }),
    ...(description === undefined ? {} : { DeadLetterErrorDescription: text(description) }),
  };
}
