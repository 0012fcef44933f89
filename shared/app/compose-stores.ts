import { TokenCache } from '../auth/token-cache.ts';
import type { Serving } from '../broker/create-broker.ts';
import { NO_WAKES } from '../broker/ports/consumer-wakes.ts';
import type { AgeClock } from '../domain/age.ts';
import type { Log } from '../domain/blocks/log.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import type { Entity } from '../domain/entities/entity.ts';
import { pause, type Scheduler } from '../domain/scheduler.ts';
import { Limiter } from '../domain/turns/limiter.ts';
import { LoopTurns } from '../domain/turns/loop-turns.ts';
import { SharedRuns } from '../domain/turns/shared-runs.ts';
import { brotli } from '../storage/blocks/compression.ts';
import { DocumentTable, documentClientOf } from '../storage/dynamodb/document-table.ts';
import { singleRequests } from '../storage/dynamodb/item-requests.ts';
import { sharedRequests } from '../storage/dynamodb/shared-requests.ts';
import { Table } from '../storage/dynamodb/table.ts';
import { DynamoActivity } from '../storage/entities/activity.ts';
import { DynamoEntityStore } from '../storage/entities/entity-store.ts';
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
import { DueTimes } from '../storage/scheduling/due-times.ts';
import { PlainSessions } from '../storage/sessions/plain-sessions.ts';
import { createSessionStore } from '../storage/sessions/session-store.ts';
import type { StoreContext } from '../storage/store-context.ts';
import { BackgroundWork } from './background-work.ts';
import { leaseEndMs } from './leases.ts';
import type { NamespaceSettings } from './namespace-settings.ts';
import { reportBackgroundFault } from './report-fault.ts';

const { scansOfLog: SCANS } = BUDGETS;
/**
 * How long a process relies on the next due time that it has read, ms. So it notices at most this late what another
 * process schedules.
 */
const DUE_KNOWN_MS = 1000;

function composeTables(
  settings: Pick<
    NamespaceSettings,
    'client' | 'documentClient' | 'tables' | 'random' | 'meter' | 'limits'
  >,
  scheduler: Scheduler,
) {
  const { client, tables, random, meter } = settings;
  const documentClient = settings.documentClient ?? documentClientOf(client);
  const options = { scheduler, random, meter, transactionItems: settings.limits?.transactionItems };
  return {
    documents: new DocumentTable(documentClient, tables.entities, options),
    table: new Table(client, tables.messages, options),
  };
}

/** Composes the stores of a namespace, and what this process remembers of them. */
export function composeStores(
  settings: NamespaceSettings,
  ages: AgeClock,
  { scheduler, workTurns }: Pick<StoreContext, 'scheduler' | 'workTurns'>,
  { remembersScans, share, watch }: Serving & { readonly watch: WatchHeaders | undefined },
) {
  const { namespace, clock, random } = settings;
  const { documents, table } = composeTables(settings, scheduler);
  const dueWork = new DueWorkIndex(documents, namespace, { clock, random });
  const partitionHints = new LocalPartitionHints(ages);
  const background = new BackgroundWork(settings.reportFault ?? reportBackgroundFault);
  const later = (work: () => Promise<void>) => background.add(work);
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
  const base = { namespace, table, clock, random, background: later };
  const waking = { ...base, documents, dueWork, entities };
  const context: StoreContext = {
    ...base,
    items: share === undefined ? singleRequests(table) : sharedRequests(table, scheduler, share),
    scheduler,
    workTurns,
    requestTurns: new LoopTurns(scheduler, BUDGETS.turnRequests),
    compression: settings.compression ?? brotli,
    scanHints: new ScanHints(ages, remembersScans),
    scans: { small: new Limiter(SCANS.small), large: new Limiter(SCANS.large) },
    spread: new Spread(),
    sizeEstimate: new SizeEstimate(ages),
    dueTimes: new DueTimes(DUE_KNOWN_MS, ages),
    forwarding: new SharedRuns(),
    plainSessions: new PlainSessions(),
    ownBlocks: stream?.ownBlocks,
    isCurrent: (log) => isCurrent(entities, log),
    wake: (logName, messages) => {
      partitionHints.noteArrival(logName);
      wakeUps.wake(logName, messages);
    },
    consumers: settings.consumers?.(waking) ?? NO_WAKES,
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
  }: {
    readonly ages: AgeClock;
    readonly scheduler: Scheduler;
    readonly documents: DocumentTable;
    readonly dueWork: DueWorkIndex;
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

async function isCurrent(
  entities: DynamoEntityStore,
  { entityKey, entityId, subQueue, generation }: Log,
): Promise<boolean> {
  const entity = await entities.read(entityKey);
  return entity?.id === entityId && entity.generations[subQueue] === generation;
}
