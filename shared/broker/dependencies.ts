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
import type { PartitionTurns } from './routing/partition-selector.ts';

/** Counts the copies of messages that one operation makes for subscriptions, until they are stored. */
export interface CopyAccount {
  /** Throws ServiceBusy where the process has no room for so many; MessageSizeExceeded where it never has. */
  hold(copies: number): void;
  /** Says that so many copies are there no more. Their room is kept for those that the operation makes next. */
  discard(copies: number): void;
}

/** What the operations of the broker are built from. */
export interface BrokerParts {
  readonly entities: EntityStore;
  readonly subscriptions: SubscriptionCatalog;
  readonly messages: MessageStore;
  readonly sessions: SessionStore;
  readonly wakeUps: WakeUps;
  readonly partitionHints: PartitionHints;
  readonly turns: PartitionTurns;
  readonly activity: Activity;
  readonly namespace: TieredNamespace;
  readonly limits: Pick<StorageLimits, 'bytesPerMegabyte'>;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** What this process may hold for its peers. */
  readonly memory: MemoryBudget;
  /** Within an operation that a sender waits for: counts the copies it makes. */
  readonly copies?: CopyAccount;
  /** Milliseconds that only ever go on, for waits; not the clock that users may move. */
  readonly monotonicNow: () => number;
  /** Divides the time of this process among what takes long. */
  readonly workTurns: Pick<WorkTurns, 'next'>;
  /** Calls work behind what is under way now. */
  readonly soon: Scheduler['soon'];
}
