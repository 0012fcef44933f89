import { BrokerError } from '../../domain/broker-error.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Filter } from '../../filters/rule.ts';
import type { EntityCounts } from '../ports/management.ts';

/**
 * Quotas of management (semantics Q1, Q4). They are checked before the write, not in it, so creations at the same
 * instant may exceed a limit by their number.
 */

const SQL_FILTERS_PER_TOPIC = 2000;
const CORRELATION_FILTERS_PER_TOPIC = 100_000;

/** Throws QuotaExceeded if the namespace cannot have one more queue or topic. */
export async function requireRoomInNamespace(
  counts: EntityCounts,
  partitioned: boolean,
): Promise<void> {
  const { entitiesPerNamespace, partitionedEntitiesPerNamespace } = LIMITS;
  const have = await counts.entities();
  if (have.total >= entitiesPerNamespace) {
    throw exceeded('40300', 'Queue or Topic', have.total, entitiesPerNamespace);
  }
  if (partitioned && have.partitioned >= partitionedEntitiesPerNamespace) {
    // The service's own spelling, which clients may search for (semantics Q6).
    const type = 'EnablePartioning == true';
    throw exceeded('40300', type, have.partitioned, partitionedEntitiesPerNamespace);
  }
}

/** Throws QuotaExceeded if the topic cannot have one more subscription. */
export async function requireRoomInTopic(counts: EntityCounts, topic: string): Promise<void> {
  const [have = 0] = await counts.subscriptions([topic]);
  if (have < LIMITS.subscriptionsPerTopic) return;
  throw exceeded('40503', 'Subscription', have, LIMITS.subscriptionsPerTopic);
}

/** Throws QuotaExceeded if the topic cannot have one more filter of this kind. */
export async function requireRoomForFilter(
  counts: EntityCounts,
  topic: string,
  { kind }: Filter,
): Promise<void> {
  if (kind !== 'sql' && kind !== 'correlation') return;
  const have = (await counts.filters(topic))[kind];
  const limit = kind === 'sql' ? SQL_FILTERS_PER_TOPIC : CORRELATION_FILTERS_PER_TOPIC;
  if (have < limit) return;
  const [subCode, type] = kind === 'sql' ? ['40501', 'SqlFilter'] : ['40502', 'CorrelationFilter'];
  throw exceeded(subCode, type, have, limit);
}

function exceeded(subCode: string, type: string, have: number, limit: number): BrokerError {
  return new BrokerError(
    'QuotaExceeded',
    `The maximum number of resources of type \`${type}\` has been reached or exceeded. There are ${have}; the limit is ${limit}.`,
    { subCode },
  );
}
