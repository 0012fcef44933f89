import type { Delivery, OperationRecord, SettledItem } from '../clients/record.ts';
import type { MessageSpec } from '../scenario/scenario.ts';

/** The outcome of a send as its client knows it. */
export type SendOutcome = 'done' | 'unknown' | 'refused';

/** An instant from which a message is certainly at a place. */
interface Mark {
  /** When the operation that proves it began; operations under way then may have acted after it. */
  readonly since: number;
  readonly at: number;
  readonly place: string;
}

/** A span of true time, epoch ms. */
export interface Interval {
  readonly from: number;
  to: number;
}

/** A delivery and the operation that returned it. */
export interface Delivered {
  readonly delivery: Delivery;
  readonly record: OperationRecord;
}

/** A settlement or renewal and its operation. */
export interface Settled {
  readonly item: SettledItem;
  readonly record: OperationRecord;
}

/**
 * One message at one final entity, with what certainly holds for it: all that follows from the answers
 * clients got, and nothing that a process may have done without an answer.
 */
export class Copy {
  readonly tag: string;
  readonly message: MessageSpec;
  /** The entity it was sent to. */
  readonly to: string;
  /** The main queue where it is stored until a client acts on it. */
  readonly end: string;
  readonly sent: OperationRecord;
  readonly outcome: SendOutcome;
  /** It cannot expire before this instant. */
  readonly expiresFrom: number;
  readonly deliveries: Delivered[] = [];
  readonly settlements: Settled[] = [];
  sequenceNumber: bigint | undefined;
  /** Reasons why it may be removed without an answer that says so. */
  readonly mayBeGone = new Set<string>();
  readonly #marks: Mark[] = [];
  readonly #holds: Interval[] = [];
  readonly #uncertain: { readonly from: number; readonly until: number }[] = [];

  constructor(
    sent: OperationRecord,
    fixed: Pick<Copy, 'message' | 'to' | 'end' | 'outcome' | 'expiresFrom'>,
  ) {
    this.sent = sent;
    this.message = fixed.message;
    this.tag = fixed.message.tag;
    this.to = fixed.to;
    this.end = fixed.end;
    this.outcome = fixed.outcome;
    this.expiresFrom = fixed.expiresFrom;
  }

  /** An operation proves that it is at a place, unless a concurrent operation moved it. */
  mark({ start, end }: OperationRecord, place: string): void {
    this.#marks.push({ since: start, at: end, place });
  }

  /** A client may hold its lock during an interval. */
  hold(interval: Interval): void {
    this.#holds.push(interval);
  }

  /** An operation may have changed it at any time from `from` to `until`. */
  markUncertain(from: number, until: number): void {
    this.#uncertain.push({ from, until });
  }

  /** Whether it was ever delivered. */
  get wasDelivered(): boolean {
    return this.deliveries.length > 0;
  }

  /** Whether it was certainly at a place and unlocked all the time between two instants. */
  isFree(place: string, from: number, to: number): boolean {
    let mark: Mark | undefined;
    for (const one of this.#marks) {
      if (one.at <= from && (mark === undefined || one.at >= mark.at)) mark = one;
    }
    if (mark?.place !== place) return false;
    const { since } = mark;
    if (this.#holds.some((hold) => hold.from <= to && hold.to >= from)) return false;
    return !this.#uncertain.some((one) => one.from <= to && one.until >= since);
  }
}
