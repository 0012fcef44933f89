import { getHeapStatistics } from 'node:v8';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { RootKeySource } from '../auth/root-key.ts';
import type { parseSasToken } from '../auth/sas-token-text.ts';
import type { ConsumerWakes } from '../broker/ports/consumer-wakes.ts';
import type { PushManagement } from '../broker/ports/management.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import { MemoryBudget } from '../domain/budgets/memory-budget.ts';
import type { Clock, RandomSource } from '../domain/clock.ts';
import type { Tier } from '../domain/entities/tier.ts';
import type { StorageLimits } from '../domain/limits.ts';
import type { Scheduler } from '../domain/scheduler.ts';
import { WorkTurns } from '../domain/turns/work-turns.ts';
import type { Compression } from '../storage/blocks/compression.ts';
import type { UnitMeter } from '../storage/dynamodb/capacity-meter.ts';
import type { DocumentTable } from '../storage/dynamodb/document-table.ts';
import type { DynamoEntityStore } from '../storage/entities/entity-store.ts';
import type { DueWorkIndex } from '../storage/maintenance/due-work-index.ts';
import type { TableNames } from '../storage/schema/tables.ts';
import type { StoreContext } from '../storage/store-context.ts';
import type { WaitStream } from './open-stream.ts';
import { realScheduler } from './real-scheduler.ts';
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
  /** Which consumers management accepts, and who hears of them; absent = the namespace has no dispatcher. */
  readonly push?: PushManagement;
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
  /** Makes what hears of messages of logs that have consumers; default: nobody does. */
  readonly consumers?: (stores: WakingStores) => ConsumerWakes;
  /** Counts capacity units, for benchmarks and tests. */
  readonly meter?: UnitMeter;
}

/** The stores with which consumers are woken. */
export interface WakingStores
  extends Pick<StoreContext, 'namespace' | 'table' | 'clock' | 'random' | 'background'> {
  readonly documents: DocumentTable;
  readonly dueWork: DueWorkIndex;
  readonly entities: DynamoEntityStore;
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

function memoryOfProcess(): number {
  return getHeapStatistics().heap_size_limit * BUDGETS.process.heldShareOfHeap;
}
