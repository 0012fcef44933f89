import type { Delivery, OperationRecord, SettledItem } from '../clients/record.ts';
import type { MessageSpec } from '../scenario/scenario.ts';

/** How a client heard of a send. */
export type SendOutcome = 'done' | 'unknown' | 'refused';

/** An instant from which a message surely is at a place. */
interface Mark {
  /** When what tells so began: what was under way then may have come after it. */
  readonly since: number;
  readonly at: number;
  readonly place: string;
}

/** A stretch of time in which something may have been, true epoch ms. */
export interface Stretch {
  readonly from: number;
  to: number;
}

/** A delivery and the operation that it was an answer to. */
export interface Delivered {
  readonly delivery: Delivery;
  readonly record: OperationRecord;
}

/** A settlement or renewal and the operation that asked for it. */
export interface Settled {
  readonly item: SettledItem;
  readonly record: OperationRecord;
}

/**
 * One message at the end of one way, and what is surely known of it: everything that follows from
 * what clients heard, and nothing that a process may have done unheard.
 */
export class Copy {
  readonly tag: string;
  readonly message: MessageSpec;
  /** To which it was sent. */
  readonly to: string;
  /** The main queue in which it lies when nobody has touched it. */
  readonly end: string;
  readonly sent: OperationRecord;
  readonly outcome: SendOutcome;
  /** Before this instant its time to live cannot have ended. */
  readonly expiresFrom: number;
  readonly deliveries: Delivered[] = [];
  readonly settlements: Settled[] = [];
  sequenceNumber: bigint | undefined;
  /** Why it may be gone without anybody having heard so. */
  readonly mayBeGone = new Set<string>();
  readonly #marks: Mark[] = [];
  readonly #holds: Stretch[] = [];
  readonly #doubts: { readonly from: number; readonly until: number }[] = [];

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

  /** An operation tells that it surely is at a place, unless something beside it took it away again. */
  mark({ start, end }: OperationRecord, place: string): void {
    this.#marks.push({ since: start, at: end, place });
  }

  /** Somebody may hold it. */
  hold(stretch: Stretch): void {
    this.#holds.push(stretch);
  }

  /** Something may have been done to it, perhaps as late as `until`. */
  doubt(from: number, until: number): void {
    this.#doubts.push({ from, until });
  }

  /** Whether somebody ever saw it. */
  get wasSeen(): boolean {
    return this.deliveries.length > 0;
  }

  /** Whether it surely was at a place, and nobody held it, all the time between two instants. */
  isFree(place: string, from: number, to: number): boolean {
    let mark: Mark | undefined;
    for (const one of this.#marks) {
      if (one.at <= from && (mark === undefined || one.at >= mark.at)) mark = one;
    }
    if (mark?.place !== place) return false;
    const { since } = mark;
    if (this.#holds.some((hold) => hold.from <= to && hold.to >= from)) return false;
    return !this.#doubts.some((doubt) => doubt.from <= to && doubt.until >= since);
  }
}
