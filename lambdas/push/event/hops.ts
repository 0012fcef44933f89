import type { SubQueue } from '../../../shared/domain/entities/entity-path.ts';
import type { Message } from '../../../shared/domain/messages/message.ts';
import type { PropertyValue } from '../../../shared/domain/messages/property-value.ts';

/** The application property that counts how many targets a message has passed, with those it was copied from. */
export const HOPS_PROPERTY = 'dynabus-hops';
/** Targets that a message may pass, with those it was copied from. */
export const HOPS_MAX = 16;
/** As many again for targets of dead-letter queues, which get what is in a loop. */
export const HOPS_MAX_DEAD = 2 * HOPS_MAX;

const INT32_MAX = 2 ** 31 - 1;
/** A target that copies message attributes as texts keeps the count. */
const DIGITS = /^\d{1,10}$/;

/**
 * How many targets a message has passed: a target that copies the properties or the message attributes of what it gets
 * into what it sends hands the count on. 0 where the property is absent or is no such count.
 */
export function hopsOf({ properties }: Pick<Message, 'properties'>): number {
  const value = properties[HOPS_PROPERTY];
  const count = value === undefined ? 0 : countIn(value);
  // The raised count is still an int.
  return Number.isInteger(count) && count > 0 ? Math.min(count, INT32_MAX - 1) : 0;
}

/** Whether a message has passed so many targets that it is in a loop. It must not be pushed from a queue again. */
export function hasTooManyHops(message: Pick<Message, 'properties'>, subQueue: SubQueue): boolean {
  return hopsOf(message) >= (subQueue === 'main' ? HOPS_MAX : HOPS_MAX_DEAD);
}

function countIn(property: PropertyValue): number {
  switch (property.type) {
    case 'byte':
    case 'sbyte':
    case 'short':
    case 'ushort':
    case 'int':
    case 'uint':
    case 'float':
    case 'double':
    case 'long':
    case 'ulong':
      return Number(property.value);
    case 'string':
      return DIGITS.test(property.value) ? Number(property.value) : 0;
    default:
      return 0;
  }
}
