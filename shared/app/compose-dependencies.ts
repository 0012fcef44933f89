import { getHeapStatistics } from 'node:v8';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { rootRulesOf } from '../auth/namespace-keys.ts';
import type { RootKeySource } from '../auth/root-key.ts';
import type { parseSasToken } from '../auth/sas-token-text.ts';
import { TokenCache } from '../auth/token-cache.ts';
import { ONE_AT_A_TIME, type Serving } from '../broker/create-broker.ts';
import type { BrokerDependencies } from '../broker/dependencies.ts';
import { beginForwarding, forwardPending } from '../broker/routing/forward-pending.ts';
import { PartitionSelector } from '../broker/routing/partition-selector.ts';
import { AgeClock } from '../domain/age.ts';
import type { Log } from '../domain/blocks/log.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import { MemoryBudget } from '../domain/budgets/memory-budget.ts';
import type { Clock, RandomSource } from '../domain/clock.ts';
import type { Entity } from '../domain/entities/entity.ts';
import type { Tier } from '../domain/entities/tier.ts';
import { STORAGE_LIMITS, type StorageLimits } from '../domain/limits.ts';
import { pause, type Scheduler } from '../domain/scheduler.ts';
import { Limiter } from '../domain/turns/limiter.ts';
import { LoopTurns } from '../domain/turns/loop-turns.ts';
import { WorkTurns } from '../domain/turns/work-turns.ts';
import { brotli, type Compression } from '../storage/blocks/compression.ts';
import type { UnitMeter } from '../storage/dynamodb/capacity-meter.ts';
import { DocumentTable, documentClientOf } from '../storage/dynamodb/document-table.ts';
import { singleRequests } from '../storage/dynamodb/item-requests.ts';
import { sharedRequests } from '../storage/dynamodb/shared-requests.ts';
import { Table } from '../storage/dynamodb/table.ts';
import { DynamoActivity } from '../storage/entities/activity.ts';
import { DynamoEntityStore } from '../storage/entities/entity-store.ts';
import { exactSizeOf } from '../storage/entities/exact-size.ts';
import {
  DynamoSubscriptionCatalog,
  type SubscribedTo,
} from '../storage/entities/subscription-catalog.ts';
import type { WatchHeaders } from '../storage/hints/header-watch.ts';
import { LeaseCache } from '../storage/hints/lease-cache.ts';
import { LocalPartitionHints } from '../storage/hints/partition-hints.ts';
import { ScanHints } from '../storage/hints/scan-hints.ts';
import { SizeEstimate } from '../storage/hints/size-estimate.ts';
import { Spread } from '../storage/hints/spread.ts';
import { LocalWakeUps } from '../storage/hints/wake-ups.ts';
import { DueWorkIndex } from '../storage/maintenance/due-work-index.ts';
import { createMessageStore } from '../storage/message-store.ts';
import { DueTimes } from '../storage/scheduling/due-times.ts';
import type { TableNames } from '../storage/schema/tables.ts';
import { PlainSessions } from '../storage/sessions/plain-sessions.ts';
import { createSessionStore, type SweptSessionStore } from '../storage/sessions/session-store.ts';
import type { StoreContext } from '../storage/store-context.ts';
import { BackgroundWork } from './background-work.ts';
import { leaseEndMs } from './leases.ts';
import type { WaitStream } from './open-stream.ts';
import { realScheduler } from './real-scheduler.ts';
import { reportBackgroundFault } from './report-fault.ts';
import type { SurfaceDependencies } from './surface-dependencies.ts';

/** The settings of a namespace, which a function, a server or a test provides. */
export interface NamespaceSettings {
  readonly client: DynamoDBClient;
  /** A client for plain JavaScript values; default: one that wraps `client`. */
  readonly documentClient?: DynamoDBDocumentClient;
  readonly tables: TableNames;
  readonly namespace: string;
  /** Limits the settings of entities; default: Standard. */
  readonly tier?: Tier;
  readonly clock: Clock;
  /** The clock by which tokens expire, for namespaces whose `clock` users move; default: `clock`. */
  readonly tokenClock?: Clock;
  readonly random: RandomSource;
  /** The key of RootManageSharedAccessKey, or the source of its primary and secondary key. */
  readonly rootKey: string | RootKeySource;
  /** How long an entity may be used after it was read, ms; the same in all processes of the namespace. */
  readonly leaseMs: number;
  /** Counts the operations of authorization rules; default: no counting. */
  readonly countOperation?: SurfaceDependencies['countOperation'];
  /** Compresses payloads; default: brotli, on other threads. */
  readonly compression?: Compression;
  /** Runs work later; default: the timers of the process. */
  readonly scheduler?: Scheduler;
  /** Called with each failure of background work; default: writes it to the log. */
  readonly reportFault?: (error: unknown) => void;
  /** The memory for requests and connections, bytes; default: a share of the heap limit. */
  readonly memoryBytes?: number;
  /** The stream of the messages table, by `openStream`; the caller closes it. Default: receives look for themselves. */
  readonly stream?: WaitStream | undefined;
  /** What the namespaces of one process share; default: the namespace has its own. */
  readonly process?: ProcessResources;
  /** Parses tokens; default: `parseSasToken`. A parser of one of several namespaces refuses tokens of the others. */
  readonly parseToken?: typeof parseSasToken;
  /** Limits of DynamoDB's requests; default: `STORAGE_LIMITS`. Tests make them smaller. */
  readonly limits?: StorageLimits;
  /** Counts capacity units, for benchmarks and tests. */
  readonly meter?: UnitMeter;
}

/** What bounds the memory and the time of a whole process, however many namespaces it serves. */
export type ProcessResources = Pick<SurfaceDependencies, 'memory'> &
  Pick<StoreContext, 'workTurns'>;

/** The resources of a process; `memoryBytes` = the memory for requests and connections. */
export function processResources(
  scheduler: Scheduler = realScheduler,
  memoryBytes: number = memoryOfProcess(),
): ProcessResources {
  return { memory: new MemoryBudget(memoryBytes), workTurns: new WorkTurns(scheduler) };
}

/** The dependencies of the surfaces, and those of the composition itself. */
export interface ComposedDependencies extends SurfaceDependencies {
  readonly context: StoreContext;
  readonly entities: DynamoEntityStore;
  readonly sessions: SweptSessionStore;
  readonly documents: DocumentTable;
  readonly background: BackgroundWork;
  readonly wakeUps: LocalWakeUps;
  readonly dueWork: DueWorkIndex;
  readonly activity: DynamoActivity;
  readonly ages: AgeClock;
  readonly scheduler: Scheduler;
  /** Forwards the messages that wait in some partitions of a topic, or of an entity that forwards. */
  readonly forwardPending: (entity: Entity, partitions: readonly number[]) => Promise<void>;
  /** Forwards the messages of an entity that may have just begun to forward. */
  readonly beginForwarding: (entity: Entity) => Promise<void>;
}

const { scansOfLog: SCANS } = BUDGETS;
/**
 * How long a process relies on the next due time that it has read, ms. So it notices at most this late what another
 * process schedules.
 */
const DUE_KNOWN_MS = 1000;

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
    soon: (work) => scheduler.soon(work),
  };
  return {
    ...stores,
    ages,
    scheduler,
    broker: serving.create({ ...brokerDependencies, scheduler, background: context.background }),
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

function composeStores(
  settings: NamespaceSettings,
  ages: AgeClock,
  { scheduler, workTurns }: Pick<StoreContext, 'scheduler' | 'workTurns'>,
  { remembersScans, share, watch }: Serving & { readonly watch: WatchHeaders | undefined },
) {
  const { client, tables, namespace, clock, random, meter } = settings;
  const documentClient = settings.documentClient ?? documentClientOf(client);
  const transactionItems = settings.limits?.transactionItems;
  const tableOptions = { scheduler, random, meter, transactionItems };
  const documents = new DocumentTable(documentClient, tables.entities, tableOptions);
  const dueWork = new DueWorkIndex(documents, namespace, { clock, random });
  const partitionHints = new LocalPartitionHints(ages);
  const background = new BackgroundWork(settings.reportFault ?? reportBackgroundFault);
  const later = (work: () => Promise<void>) => background.add(work);
  const table = new Table(client, tables.messages, tableOptions);
  const { stream } = settings;
  const wakeUps: LocalWakeUps = new LocalWakeUps(scheduler, {
    headers: watch?.({ table, scheduler, background: later }),
    stream: stream?.of(() => ({ context, partitionHints, wakeUps })),
  });
  const { entities, subscribed, tokens } = composeEntities(settings, {
    ages,
    scheduler,
    documents,
    dueWork,
    onChange: (key) => wakeUps.entityChanged(key),
  });
  const context: StoreContext = {
    namespace,
    table,
    items: share === undefined ? singleRequests(table) : sharedRequests(table, scheduler, share),
    clock,
    scheduler,
    workTurns,
    requestTurns: new LoopTurns(scheduler, BUDGETS.turnRequests),
    random,
    compression: settings.compression ?? brotli,
    scanHints: new ScanHints(ages, remembersScans),
    scans: { small: new Limiter(SCANS.small), large: new Limiter(SCANS.large) },
    spread: new Spread(),
    sizeEstimate: new SizeEstimate(ages),
    dueTimes: new DueTimes(DUE_KNOWN_MS, ages),
    plainSessions: new PlainSessions(),
    ownBlocks: stream?.ownBlocks,
    background: later,
    isCurrent: (log) => isCurrent(entities, log),
    wake: (logName, messages) => {
      partitionHints.noteArrival(logName);
      wakeUps.wake(logName, messages);
    },
    addDueWork: (log, dueAt) => dueWork.add(log, dueAt),
  };
  const touch = (entity: Entity, now: number) => entities.touch(entity, now);
  const activity = new DynamoActivity({ clock, touch, background: later });
  const subscriptions = new DynamoSubscriptionCatalog(documents, namespace, subscribed);
  return {
    entities,
    subscriptions,
    activity,
    dueWork,
    background,
    context,
    documents,
    sessions: createSessionStore(context),
    wakeUps,
    tokens,
    partitionHints,
  };
}

/** Composes the entity store and its caches. `onChange` hears of each queue or topic that this process has changed. */
function composeEntities(
  { tables, namespace, random, leaseMs, parseToken }: NamespaceSettings,
  {
    ages,
    scheduler,
    documents,
    dueWork,
    onChange,
  }: Pick<ComposedDependencies, 'ages' | 'scheduler' | 'documents' | 'dueWork'> & {
    readonly onChange: (key: string) => void;
  },
) {
  const subscribed = new LeaseCache<SubscribedTo>(leaseMs, ages);
  const cache = new LeaseCache<Entity>(leaseMs, ages);
  const tokens = new TokenCache(ages, undefined, parseToken);
  const entities = new DynamoEntityStore({
    table: documents,
    messagesTable: tables.messages,
    namespace,
    random,
    ages,
    cache,
    dueWork,
    forgetOthers: (key) => {
      subscribed.forget(key);
      tokens.changed(key);
      onChange(key);
    },
    leasesEnded: () => pause(scheduler, leaseEndMs(leaseMs)),
  });
  return { entities, subscribed, tokens };
}

function memoryOfProcess(): number {
  return getHeapStatistics().heap_size_limit * BUDGETS.process.heldShareOfHeap;
}

async function isCurrent(
  entities: DynamoEntityStore,
  { entityKey, entityId, subQueue, generation }: Log,
): Promise<boolean> {
  const entity = await entities.read(entityKey);
  return entity?.id === entityId && entity.generations[subQueue] === generation;
}
