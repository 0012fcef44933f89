import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { partitionNumbers, requiresSession } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import type { BrokerDependencies } from '../dependencies.ts';

/**
 * Moves messages of the main queue into the dead-letter queue: those whose last delivery ended with an expired lock
 * (semantics #24), and those that expired under a lock, if no receive has found them since. A peek of a dead-letter
 * queue calls it first, a receive before it returns nothing. True = messages were moved.
 */
export async function deadLetterLapsed(
  dependencies: BrokerDependencies,
  entity: Receivable,
  path: EntityPath,
): Promise<boolean> {
  if (path.subQueue !== 'deadLetter') return false;
  const store = requiresSession(entity) ? dependencies.sessions : dependencies.messages;
  const settled = await Promise.allSettled(
    partitionNumbers(entity).map((partition) =>
      store.deadLetterLapsed(logOf(entity, 'main', partition), policyOf(entity, 'main', partition)),
    ),
  );
  if (settled.some((one) => one.status === 'fulfilled' && one.value)) return true;
  for (const one of settled) if (one.status === 'rejected') throw one.reason;
  return false;
}
