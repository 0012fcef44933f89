import { Management } from '../broker/management/management.ts';
import type { ConsumerState, PushManagement } from '../broker/ports/management.ts';
import { logOf } from '../domain/blocks/log.ts';
import type { Clock } from '../domain/clock.ts';
import type { Consumer } from '../domain/consumers/consumer.ts';
import { consumerKey } from '../domain/consumers/consumer-key.ts';
import { type Entity, isConsumed } from '../domain/entities/entity.ts';
import { SUB_QUEUES } from '../domain/entities/entity-path.ts';
import type { Tier } from '../domain/entities/tier.ts';
import { resultOf } from '../domain/result-of.ts';
import { isOwned, stateAt } from '../push/stored-instants.ts';
import { DynamoConsumerStates } from '../storage/consumers/consumer-states.ts';
import { DynamoConsumerStore } from '../storage/entities/consumer-store.ts';
import { DynamoCounts } from '../storage/entities/counts.ts';
import { DynamoQuotaCounts } from '../storage/entities/quota-counts.ts';
import { DynamoRuleStore } from '../storage/entities/rule-store.ts';
import type { ComposedDependencies } from './compose-dependencies.ts';

/** A namespace that does not push: no consumer would get a message (semantics J4). */
const NO_PUSH: PushManagement = {
  allowsTarget: () =>
    'This namespace does not push messages: set push of the stage, and deploy it.',
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
  const states = new DynamoConsumerStates(documents, namespace);
  return new Management({
    entities,
    ...push,
    onConsumersChanged: (entity) => {
      for (const subQueue of SUB_QUEUES) {
        if (!isConsumed(entity, subQueue)) continue;
        // What waits already is pushed.
        context.consumers.available(logOf(entity, subQueue, 0), false);
      }
    },
    stateOf: (entity, consumer) => shownState(states, clock, entity, consumer),
    rules: new DynamoRuleStore(dependencies),
    consumers: new DynamoConsumerStore(entities, states),
    counts: new DynamoCounts({
      table: context.table,
      documents,
      namespace,
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

/** What is shown of the state of a consumer; undefined = it could not be read. */
async function shownState(
  states: DynamoConsumerStates,
  clock: Clock,
  { id, key }: Entity,
  consumer: Consumer,
): Promise<ConsumerState | undefined> {
  const of = { entityId: id, entityKey: key, consumer: consumerKey(consumer) };
  const read = await resultOf(states.read(of));
  if ('error' in read || read.value === undefined) return undefined;
  const now = clock.now();
  const { fault, pause } = stateAt(read.value, now);
  return {
    isRunning: isOwned(read.value, now),
    ...(fault === undefined ? {} : { lastError: fault.error, lastErrorAt: fault.at }),
    ...(pause === undefined || pause.until <= now ? {} : { retryAt: pause.until }),
  };
}
