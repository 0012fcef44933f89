import { Management } from '../broker/management/management.ts';
import type { Tier } from '../domain/entities/tier.ts';
import { DynamoCounts } from '../storage/entities/counts.ts';
import { DynamoQuotaCounts } from '../storage/entities/quota-counts.ts';
import { DynamoRuleStore } from '../storage/entities/rule-store.ts';
import type { ComposedDependencies } from './compose-dependencies.ts';

/** Composes the management of a namespace. Functions that only handle messages go without its code. */
export function composeManagement(
  dependencies: ComposedDependencies,
  tier: Tier = 'Standard',
): Management {
  const { clock, random, documents, namespace, entities, context, activity } = dependencies;
  return new Management({
    entities,
    rules: new DynamoRuleStore(dependencies),
    counts: new DynamoCounts({
      table: context.table,
      entities,
      clock,
      usedAt: (entity) => activity.usedAt(entity),
    }),
    quotaCounts: new DynamoQuotaCounts({ table: documents, namespace, random }),
    clock,
    random,
    namespace: { name: namespace, tier },
    beginForwarding: dependencies.beginForwarding,
  });
}
