import { requiresSession } from '../domain/entity.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { logOf } from '../domain/log.ts';
import { policyOf, type Receivable } from '../domain/log-policy.ts';
import type { BrokerParts } from './broker-parts.ts';

/**
 * Before a dead-letter queue shows itself empty: what ended with a lock in the main queue, unnoticed
 * since then, belongs into it. True = something came.
 */
export async function settleLapsed(
  parts: BrokerParts,
  entity: Receivable,
  path: EntityPath,
): Promise<boolean> {
  if (path.subQueue !== 'deadLetter') return false;
  const main = logOf(entity, 'main', 0);
  const policy = policyOf(entity, 'main', main.partition);
  return requiresSession(entity)
    ? await parts.sessions.settleLapsed(main, policy)
    : await parts.messages.settleLapsed(main, policy);
}
