import type { Footprint } from './footprint.ts';

/** A fault of a write. */
export type Fault =
  /** It is executed; the process gets a connection error. */
  | 'answerLost'
  /** The process gets a connection error; the write is executed at any instant after that. */
  | 'late'
  /** As `late`; the other tries get connection errors, too, and are not executed. */
  | 'lateUnheard'
  /** As `late`; the service is busy for the other tries. */
  | 'lateBusy'
  /** It is executed; this request and the next ones of the process get connection errors. */
  | 'cutOff'
  /** It is executed, and the process crashes. */
  | 'crash'
  /** The process crashes before it is executed. */
  | 'crashBefore';

/** How a request is executed: without a fault, or with one. */
export type Way = 'plain' | Fault;

/** An event that can happen next. */
export interface Pending {
  /** The number of the event, in the order of creation; the same choices give the same numbers. */
  readonly number: number;
  readonly kind: 'request' | 'time';
  readonly process: string;
  readonly footprint: Footprint;
  /** The index of the event that created it; -1 = the start of the run. */
  readonly cause: number;
  readonly isWrite: boolean;
  /** The process, if several actors share it: the order of all its answers can then matter. */
  readonly memory?: string | undefined;
  /** Whether it is the begin of an actor's operation, which reads clocks and hints. */
  readonly isStart?: boolean;
  /** Whether it is the end of a short pause. */
  readonly isPause?: boolean;
  /** Whether it is the commit of a split transaction, which happens even if its process crashes. */
  readonly isCommit?: boolean;
  /** The text in timelines. */
  readonly text: () => string;
  /** Executes the event; returns the text of its result in timelines. */
  readonly happen: (way: Way) => string;
}

/** An event that has happened. */
export interface Event extends Omit<Pending, 'kind' | 'happen'> {
  readonly kind: Pending['kind'] | 'timer';
  readonly way: Way;
  readonly result: string;
}

/** A new pending event. */
export type Upcoming = Omit<Pending, 'number' | 'cause'>;
