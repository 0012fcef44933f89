import { Management } from '../broker/management/management.ts';
import type { PushManagement } from '../broker/ports/management.ts';
import type { Tier } from '../domain/entities/tier.ts';
import { DynamoConsumerStates } from '../storage/consumers/consumer-states.ts';
import { DynamoConsumerStore } from '../storage/entities/consumer-store.ts';
import { DynamoCounts } from '../storage/entities/counts.ts';
import { DynamoQuotaCounts } from '../storage/entities/quota-counts.ts';
import { DynamoRuleStore } from '../storage/entities/rule-store.ts';
import type { ComposedDependencies } from './compose-dependencies.ts';

/** A namespace without a dispatcher: no consumer would get a message (semantics J4). */
const NO_PUSH: PushManagement = {
  allowsTarget: () =>
    'This namespace has no dispatcher, which pushes messages to the targets of consumers: deploy it with one.',
  onConsumersChanged: () => {},
};

/**
 * Composes the management of a namespace. Functions that only handle messages go without its code. `push` = what the
 * dispatcher of the namespace says; absent = it has none.
 */
export function composeManagement(
  dependencies: ComposedDependencies,
  tier: Tier = 'Standard',
  push: PushManagement = NO_PUSH,
): Management {
  const { clock, random, documents, namespace, entities, context, activity } = dependencies;
  return new Management({
    entities,
    ...push,
    rules: new DynamoRuleStore(dependencies),
    consumers: new DynamoConsumerStore(entities, new DynamoConsumerStates(documents, namespace)),
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
