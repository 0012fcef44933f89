import type { MemoryBudget } from '../domain/budgets/memory-budget.ts';
import type { Clock, RandomSource } from '../domain/clock.ts';
import type { TieredNamespace } from '../domain/entities/tier.ts';
import type { StorageLimits } from '../domain/limits.ts';
import type { Scheduler } from '../domain/scheduler.ts';
import type { WorkTurns } from '../domain/turns/work-turns.ts';
import type { Activity, EntityStore, SubscriptionCatalog } from './ports/entities.ts';
import type { MessageStore } from './ports/messages.ts';
import type { PartitionHints } from './ports/partition-hints.ts';
import type { SessionStore } from './ports/sessions.ts';
import type { WakeUps } from './ports/wake-ups.ts';
import type { DueForwards } from './routing/due-forwards.ts';
import type { PartitionSelector } from './routing/partition-selector.ts';

/** Counts the copies that one operation makes for subscriptions, until they are stored. */
export interface CopyAccount {
  /** Counts copies. Throws ServiceBusy if the process has no room for them now; MessageSizeExceeded if it never has. */
  hold(copies: number): void;
  /** Uncounts copies that no longer exist, and keeps their room for the next copies of the operation. */
  discard(copies: number): void;
}

/** The dependencies of the broker's operations. */
export interface BrokerDependencies {
  readonly entities: EntityStore;
  readonly subscriptions: SubscriptionCatalog;
  readonly messages: MessageStore;
  readonly sessions: SessionStore;
  readonly wakeUps: WakeUps;
  readonly partitionHints: PartitionHints;
  readonly partitionSelector: PartitionSelector;
  readonly activity: Activity;
  readonly namespace: TieredNamespace;
  readonly limits: Pick<StorageLimits, 'bytesPerMegabyte'>;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Bounds the memory that this process uses for its peers. */
  readonly memory: MemoryBudget;
  /** Counts the copies of the current operation, if a sender waits for it. */
  readonly copies?: CopyAccount;
  /** Monotonic milliseconds, for waits; not the clock that users may move. */
  readonly monotonicNow: () => number;
  /** Divides the time of this process among long operations. */
  readonly workTurns: Pick<WorkTurns, 'next'>;
  /** Forwards scheduled messages when they come due; absent = the sweep does. */
  readonly dueForwards?: Pick<DueForwards, 'add'> | undefined;
  /** Calls work after what is under way now. */
  readonly soon: Scheduler['soon'];
}
