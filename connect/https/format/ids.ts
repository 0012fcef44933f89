import { guidText } from '../../../amqp/messages/property-values.ts';
import type { RandomSource } from '../../../shared/domain/clock.ts';

/** A new id, by which the service knows a request that it has carried out. */
export function newId(random: RandomSource): string {
  return guidText(random.bytes(16));
}
