import { BrokerError } from '../../domain/broker-error.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Filter } from '../../filters/rule.ts';
import type { Quota, QuotaCounts, QuotaScope } from '../ports/management.ts';

/** A quota as the service words its refusal. */
export interface WordedQuota extends Quota {
  readonly subCode: string;
  /** The service's own name of what is limited, which clients may search for (semantics Q6). */
  readonly type: string;
}

const SQL_FILTERS_PER_TOPIC = 2000;
const CORRELATION_FILTERS_PER_TOPIC = 100_000;

/** The quotas of management (semantics Q1, Q4). */
export const QUOTAS = {
  entities: {
    name: 'entities',
    limit: LIMITS.entitiesPerNamespace,
    subCode: '40300',
    type: 'Queue or Topic',
  },
  partitioned: {
    name: 'partitioned',
    limit: LIMITS.partitionedEntitiesPerNamespace,
    subCode: '40300',
    type: 'EnablePartioning == true',
  },
  subscriptions: {
    name: 'subscriptions',
    limit: LIMITS.subscriptionsPerTopic,
    subCode: '40503',
    type: 'Subscription',
  },
  sqlFilters: {
    name: 'sqlFilters',
    limit: SQL_FILTERS_PER_TOPIC,
    subCode: '40501',
    type: 'SqlFilter',
  },
  correlationFilters: {
    name: 'correlationFilters',
    limit: CORRELATION_FILTERS_PER_TOPIC,
    subCode: '40502',
    type: 'CorrelationFilter',
  },
} as const satisfies Record<string, WordedQuota>;

/** The quotas for which a filter counts. */
export function quotasOf({ kind }: Filter): readonly WordedQuota[] {
  if (kind === 'sql') return [QUOTAS.sqlFilters];
  return kind === 'correlation' ? [QUOTAS.correlationFilters] : [];
}

/**
 * Creates something if all quotas have room for it. They are checked before the write, not in it, against numbers that
 * are not exact, so a quota may be exceeded by a few percent. Throws QuotaExceeded, and what `create` throws.
 */
export async function createWithin<Created>(
  counts: QuotaCounts,
  scope: QuotaScope,
  quotas: readonly WordedQuota[],
  create: () => Promise<Created>,
): Promise<Created> {
  const numbers = await counts.numbersOf(scope, quotas);
  for (const [i, quota] of quotas.entries()) {
    const have = numbers[i] ?? 0;
    if (have >= quota.limit) throw exceeded(quota, have);
  }
  const created = await create();
  await counts.noteCreated(scope, quotas);
  return created;
}

function exceeded({ subCode, type, limit }: WordedQuota, have: number): BrokerError {
  return new BrokerError(
    'QuotaExceeded',
    `The maximum number of resources of type \`${type}\` has been reached or exceeded. There are ${have}; the limit is ${limit}.`,
    { subCode },
  );
}
