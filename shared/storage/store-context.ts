import type { ConsumerWakes } from '../broker/ports/consumer-wakes.ts';
import type { Log } from '../domain/blocks/log.ts';
import type { Clock, RandomSource } from '../domain/clock.ts';
import type { Scheduler } from '../domain/scheduler.ts';
import type { Limiter } from '../domain/turns/limiter.ts';
import type { LoopTurns } from '../domain/turns/loop-turns.ts';
import type { SharedRuns } from '../domain/turns/shared-runs.ts';
import type { WorkTurns } from '../domain/turns/work-turns.ts';
import type { Compression } from './blocks/compression.ts';
import type { ItemRequests } from './dynamodb/item-requests.ts';
import type { Table } from './dynamodb/table.ts';
import type { OwnBlocks } from './hints/own-blocks.ts';
import type { ScanHints } from './hints/scan-hints.ts';
import type { SizeEstimate } from './hints/size-estimate.ts';
import type { Spread } from './hints/spread.ts';
import type { DueTimes } from './scheduling/due-times.ts';
import type { PlainSessions } from './sessions/plain-sessions.ts';

/** The dependencies of operations on messages. */
export interface StoreContext {
  readonly table: Table;
  /** Requests for single items of the same table, which calls that arrive together may share. */
  readonly items: ItemRequests;
  readonly namespace: string;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Decides when work on many messages may start or continue. */
  readonly workTurns: Pick<WorkTurns, 'next'>;
  /** Decides when an operation on many messages may send its next request. */
  readonly requestTurns: LoopTurns;
  readonly random: RandomSource;
  readonly compression: Compression;
  readonly scanHints: ScanHints;
  /** Bounds concurrent scans of a log, separately for small and large ones. */
  readonly scans: { readonly small: Limiter; readonly large: Limiter };
  readonly spread: Spread;
  readonly dueTimes: DueTimes;
  /** The calls that forward due messages, by log. */
  readonly forwarding: SharedRuns<boolean>;
  readonly plainSessions: PlainSessions;
  readonly sizeEstimate: SizeEstimate;
  /** Absent in a process that reads no stream. */
  readonly ownBlocks?: OwnBlocks | undefined;
  /**
   * Runs work that no client needs to wait for, such as the deletion of a payload without references. A crash loses it,
   * and the sweep finds what is left.
   */
  readonly background: (work: () => Promise<void>) => void;
  /** Wakes a receive of this process for each of some messages in the log with this name (`logName`). */
  readonly wake: (logName: string, messages: number) => void;
  /** Whether a log was neither purged nor deleted with its entity. One read unit, two for a subscription. */
  readonly isCurrent: (log: Log) => Promise<boolean>;
  /** Hears of messages of logs that have consumers. */
  readonly consumers: ConsumerWakes;
  /** Adds due work of the sweep for a log at an instant, epoch ms. */
  readonly addDueWork: (log: Log, dueAt: number) => Promise<void>;
}
