import { rootRulesOf } from '../auth/namespace-keys.ts';
import { ONE_AT_A_TIME, type Serving } from '../broker/create-broker.ts';
import type { BrokerDependencies } from '../broker/dependencies.ts';
import type { DueForwards, DuePartition } from '../broker/routing/due-forwards.ts';
import { beginForwarding, forwardPending } from '../broker/routing/forward-pending.ts';
import { PartitionSelector } from '../broker/routing/partition-selector.ts';
import { AgeClock } from '../domain/age.ts';
import type { Entity } from '../domain/entities/entity.ts';
import { STORAGE_LIMITS } from '../domain/limits.ts';
import type { Scheduler } from '../domain/scheduler.ts';
import type { DocumentTable } from '../storage/dynamodb/document-table.ts';
import type { DynamoActivity } from '../storage/entities/activity.ts';
import type { DynamoEntityStore } from '../storage/entities/entity-store.ts';
import { exactSizeOf } from '../storage/entities/exact-size.ts';
import type { WatchHeaders } from '../storage/hints/header-watch.ts';
import type { LocalWakeUps } from '../storage/hints/wake-ups.ts';
import type { DueWorkIndex } from '../storage/maintenance/due-work-index.ts';
import { createMessageStore } from '../storage/message-store.ts';
import type { SweptSessionStore } from '../storage/sessions/session-store.ts';
import type { StoreContext } from '../storage/store-context.ts';
import type { BackgroundWork } from './background-work.ts';
import { composeStores } from './compose-stores.ts';
import { type NamespaceSettings, processResources } from './namespace-settings.ts';
import { realScheduler } from './real-scheduler.ts';
import type { SurfaceDependencies } from './surface-dependencies.ts';

/** The dependencies of the surfaces, and those of the composition itself. */
export interface ComposedDependencies extends SurfaceDependencies {
  readonly context: StoreContext;
  readonly entities: DynamoEntityStore;
  readonly sessions: SweptSessionStore;
  readonly documents: DocumentTable;
  readonly background: BackgroundWork;
  readonly wakeUps: LocalWakeUps;
  /** Absent in a process that does not last. */
  readonly dueForwards: DueForwards | undefined;
  readonly dueWork: DueWorkIndex;
  readonly activity: DynamoActivity;
  readonly ages: AgeClock;
  readonly scheduler: Scheduler;
  /** Forwards the messages that wait in some partitions of a topic, or of an entity that forwards. */
  readonly forwardPending: (entity: Entity, partitions: readonly number[]) => Promise<void>;
  /** Forwards the messages of an entity that may have just begun to forward. */
  readonly beginForwarding: (entity: Entity) => Promise<void>;
}

/**
 * Composes broker and storage without management. `serving` = `MANY_AT_ONCE` in a process that serves many clients at
 * once; absent = for a function. `watch` = `watchHeaders` where receives may wait for more than a minute.
 */
export function composeDependencies(
  settings: NamespaceSettings,
  serving: Serving = ONE_AT_A_TIME,
  watch?: WatchHeaders,
): ComposedDependencies {
  const { clock, random, namespace, scheduler = realScheduler } = settings;
  const monotonicNow = () => scheduler.now();
  const ages = new AgeClock(clock, monotonicNow);
  const { memory, workTurns } =
    settings.process ?? processResources(scheduler, settings.memoryBytes);
  const stores = composeStores(settings, ages, { scheduler, workTurns }, { ...serving, watch });
  const { context } = stores;
  const { background } = context;
  const forward = (due: DuePartition) => forwardDue(due);
  const dueForwards = serving.dueForwards?.({ scheduler, clock, background, forward });
  const brokerDependencies: BrokerDependencies = {
    ...stores,
    messages: createMessageStore(context, (entity) =>
      exactSizeOf({ table: context.table, entities: stores.entities, clock }, entity),
    ),
    wakeUps: stores.wakeUps,
    partitionSelector: new PartitionSelector(random, ages),
    namespace: { name: namespace, tier: settings.tier ?? 'Standard' },
    limits: settings.limits ?? STORAGE_LIMITS,
    clock,
    random,
    memory,
    monotonicNow,
    workTurns,
    dueForwards,
    soon: (work) => scheduler.soon(work),
  };
  const forwardDue = async ({ id, key, partition }: DuePartition) => {
    const entity = await stores.entities.find(key);
    if (entity?.id === id) await forwardPending(brokerDependencies, entity, [partition]);
  };
  return {
    ...stores,
    dueForwards,
    ages,
    scheduler,
    broker: serving.create({ ...brokerDependencies, scheduler, background }),
    forwardPending: (entity, partitions) => forwardPending(brokerDependencies, entity, partitions),
    beginForwarding: (entity) => beginForwarding(brokerDependencies, entity),
    namespaceKeys: rootRulesOf(settings.rootKey),
    clock,
    tokenClock: settings.tokenClock ?? clock,
    random,
    memory,
    workTurns,
    namespace,
    countOperation: settings.countOperation,
  };
}
