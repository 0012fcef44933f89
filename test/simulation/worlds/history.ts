import type { Delivery } from './delivery.ts';

/** One operation that an actor asked for, and what it heard. */
export interface Call {
  readonly actor: string;
  readonly kind: CallKind;
  readonly path: string;
  /** What timelines show of it. */
  readonly text: string;
  /** How many events there had been when it began; -1 = before the first choice. */
  readonly start: number;
  readonly startAt: number;
  /** Infinite as long as nothing was heard. */
  end: number;
  endAt: number;
  /** `unknown` = perhaps done; `failed` = something that is no refusal. */
  heard: 'done' | 'refused' | 'unknown' | 'failed';
  code?: string;
  /** What was sent or named: the MessageIds. */
  readonly tags: readonly string[];
  readonly delivery?: Delivery;
  /** The token of the session's lock. */
  session?: string;
  /** Whether something that was sent has a time to live of its own. */
  readonly mayExpire?: boolean;
  deliveries: readonly Delivery[];
  lockedUntil?: number;
  /** What timelines and outcomes show of the answer. */
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

/** Everything that actors asked and heard. */
export class History {
  readonly calls: Call[] = [];

  of(...kinds: readonly CallKind[]): readonly Call[] {
    return this.calls.filter(({ kind }) => kinds.includes(kind));
  }

  /** Whether something of a kind may have happened, at whatever time. */
  mayHave(...kinds: readonly CallKind[]): boolean {
    return this.of(...kinds).some(({ heard }) => heard !== 'refused');
  }

  /** What all actors heard, without what is different each time. */
  outcome(): string {
    const sorted = [...this.calls].sort((a, b) =>
      a.actor < b.actor ? -1 : a.actor > b.actor ? 1 : 0,
    );
    return sorted
      .filter(({ start }) => start >= 0)
      .map(({ actor, kind, heard, code, answer }) => {
        const how = heard === 'done' ? answer : `${heard} ${code ?? ''}`;
        return `${actor} ${kind}: ${how}`;
      })
      .join('; ');
  }
}
