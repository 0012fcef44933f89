import type { Footprint } from './footprint.ts';

/** What can go wrong with a write. */
export type Fault =
  /** It is carried out; the process hears that the connection broke. */
  | 'answerLost'
  /** The process hears that the connection broke; the write is carried out at any instant after that. */
  | 'late'
  /** The same, and the process hears that of the other tries as well, which are not carried out. */
  | 'lateUnheard'
  /** As `late`, and the service is busy for the other tries. */
  | 'lateBusy'
  /** It is carried out; the process hears that the connection broke, of this one and of its next requests. */
  | 'cutOff'
  /** It is carried out, and the process ends. */
  | 'crash'
  /** The process ends before it is carried out. */
  | 'crashBefore';

/** How a request is carried out. */
export type Way = 'plain' | Fault;

/** Something that can happen next. */
export interface Pending {
  /** Counted as they come up; the same choices give the same numbers. */
  readonly number: number;
  readonly kind: 'request' | 'time';
  readonly process: string;
  readonly footprint: Footprint;
  /** The event that brought it up, by its place in the run; -1 = the beginning. */
  readonly cause: number;
  readonly isWrite: boolean;
  /** The process, where several actors share its memory: then the order of all its answers can matter. */
  readonly memory?: string | undefined;
  /** An actor begins an operation, which reads clocks and memories. */
  readonly isStart?: boolean;
  /** A short pause ends. */
  readonly isPause?: boolean;
  /** The second half of a transaction, which happens even if its process ends. */
  readonly isCommit?: boolean;
  /** What timelines show. */
  readonly text: () => string;
  /** Has it happen; returns what timelines show of the result. */
  readonly happen: (way: Way) => string;
}

/** Something that has happened. */
export interface Event extends Omit<Pending, 'kind' | 'happen'> {
  readonly kind: Pending['kind'] | 'timer';
  readonly way: Way;
  readonly result: string;
}

/** Something that comes up. */
export type Upcoming = Omit<Pending, 'number' | 'cause'>;
