import type { Delivery } from './delivery.ts';

/** One operation of an actor, with its outcome. */
export interface Call {
  readonly actor: string;
  readonly kind: CallKind;
  readonly path: string;
  /** Its text in timelines. */
  readonly text: string;
  /** The number of events before its start; -1 = before the first choice. */
  readonly start: number;
  readonly startAt: number;
  /** The number of events before its end; infinite until then. */
  end: number;
  endAt: number;
  /** The number of events before its caller aborted it. */
  abortedAt?: number;
  /** `unknown` = it may be done; `failed` = an unexpected error. */
  outcome: 'done' | 'refused' | 'unknown' | 'failed';
  code?: string;
  /** The MessageIds of the messages that were sent or named. */
  readonly tags: readonly string[];
  readonly delivery?: Delivery;
  /** The token of the session's lock. */
  session?: string;
  /** Whether a sent message has its own time to live. */
  readonly mayExpire?: boolean;
  deliveries: readonly Delivery[];
  lockedUntil?: number;
  /** The text of the answer in timelines and outcomes. */
  answer: string;
}

export type CallKind =
  | 'send'
  | 'schedule'
  | 'receive'
  | 'receiveAndDelete'
  | 'receiveDeferred'
  | 'complete'
  | 'abandon'
  | 'defer'
  | 'deadLetter'
  | 'renew'
  | 'transact'
  | 'cancel'
  | 'purge'
  | 'delete'
  | 'create'
  | 'update'
  | 'accept'
  | 'renewSession'
  | 'release'
  | 'setState'
  | 'readState'
  | 'operate'
  | 'sweep';

/** All operations of the actors of a run. */
export class History {
  readonly calls: Call[] = [];

  of(...kinds: readonly CallKind[]): readonly Call[] {
    return this.calls.filter(({ kind }) => kinds.includes(kind));
  }

  /** Whether an operation of one of the kinds may have taken effect. */
  mayHave(...kinds: readonly CallKind[]): boolean {
    return this.of(...kinds).some(({ outcome }) => outcome !== 'refused');
  }

  /** The outcomes of all operations, without parts that differ each time. */
  outcome(): string {
    const sorted = [...this.calls].sort((a, b) =>
      a.actor < b.actor ? -1 : a.actor > b.actor ? 1 : 0,
    );
    return sorted
      .filter(({ start }) => start >= 0)
      .map(({ actor, kind, outcome, code, answer }) => {
        const how = outcome === 'done' ? answer : `${outcome} ${code ?? ''}`;
        return `${actor} ${kind}: ${how}`;
      })
      .join('; ');
  }
}
