import type { Log } from '../domain/blocks/log.ts';
import type { Clock, RandomSource } from '../domain/clock.ts';
import type { Scheduler } from '../domain/scheduler.ts';
import type { LoopTurns } from '../domain/turns/loop-turns.ts';
import type { WorkTurns } from '../domain/turns/work-turns.ts';
import type { Compression } from './blocks/compression.ts';
import type { LogSlots } from './claim/scan-slots.ts';
import type { Table } from './dynamodb/table.ts';
import type { ScanHints } from './hints/scan-hints.ts';
import type { SizeEstimate } from './hints/size-estimate.ts';
import type { Spread } from './hints/spread.ts';
import type { DueTimes } from './scheduling/due-times.ts';

/** What the operations on messages are carried out with. */
export interface StoreContext {
  readonly table: Table;
  readonly namespace: string;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** When work on many messages may begin or go on. */
  readonly workTurns: Pick<WorkTurns, 'next'>;
  /** When an operation on many messages may begin its next request. */
  readonly requestTurns: LoopTurns;
  readonly random: RandomSource;
  readonly compression: Compression;
  readonly scanHints: ScanHints;
  /** For scans of a log, by how many messages they are to find. */
  readonly scans: { readonly small: LogSlots; readonly large: LogSlots };
  readonly spread: Spread;
  readonly dueTimes: DueTimes;
  readonly sizeEstimate: SizeEstimate;
  /**
   * Takes work that must be done but that no client need wait for, such as the deletion of a
   * payload nothing refers to any more. A crash loses it; the sweep finds what it left.
   */
  readonly background: (work: () => Promise<void>) => void;
  /** Tells receivers of this process that wait on a log, by its key, to look again. */
  readonly wake: (log: string) => void;
  /** Whether a log is still that of its entity: neither purged nor gone with it. One read unit, two for a subscription. */
  readonly isCurrent: (log: Log) => Promise<boolean>;
  /** Tells the sweep that there will be something to do for a log at an instant, epoch ms. */
  readonly addDueWork: (log: Log, dueAt: number) => Promise<void>;
}
