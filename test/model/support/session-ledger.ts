import { type ManualClock, START } from '../../support/manual-clock.ts';
import type { Received } from '../../support/test-broker.ts';

/** The outcome of a request as its client knows it; `unknown` where the answer was lost. */
export type Knowledge = 'done' | 'unknown';

/** What the sender and the receivers of a message know about it. */
export interface LedgerMessage {
  readonly id: string;
  readonly session: string;
  sent: Knowledge | undefined;
  /** The outcome of its completion; absent until the first attempt. */
  completed: Knowledge | undefined;
  number: number | undefined;
}

/** What the holder of a session's lock knows about it. */
export interface LedgerLock {
  readonly session: string;
  readonly token: string;
  /** Epoch ms. */
  until: number;
  /** Whether its holder has started to release it. */
  isFreed: boolean;
  /** The count of acceptances before a receive after which the bus may have ended the lock. */
  mayBeOverSince: number | undefined;
  /** The highest number received under it; later messages must have higher ones. */
  highest: number;
}

/** Records what all senders and holders of a queue observe, and lists violations of the semantics. */
export class SessionLedger {
  readonly violations: string[] = [];
  readonly messages = new Map<string, LedgerMessage>();
  readonly tally = { sent: 0, accepted: 0, received: 0, completed: 0, lost: 0, unknown: 0 };
  readonly #locks = new Map<string, LedgerLock[]>();
  readonly #clock: ManualClock;
  /** Live locks during which another one was given, with its acceptance; a receive may explain it later. */
  readonly #shared: { readonly lock: LedgerLock; readonly by: number; readonly at: number }[] = [];

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  report(sentence: string, at = this.#clock.now()): void {
    this.violations.push(`at ${(at - START) / 1000} s: ${sentence}`);
  }

  sending(session: string): LedgerMessage {
    const id = `m${this.messages.size}`;
    const message = { id, session, sent: undefined, completed: undefined, number: undefined };
    this.messages.set(id, message);
    return message;
  }

  /** Records a lock. If it is live, every other lock of the session that is certainly live overlaps it. */
  accepted(session: string, token: string, until: number): LedgerLock {
    const now = this.#clock.now();
    const earlier = this.#locks.get(session) ?? [];
    for (const lock of earlier) {
      const isShared = now < until && this.isCertain(lock, now);
      if (isShared) this.#shared.push({ lock, by: this.tally.accepted, at: now });
    }
    const lock = { session, token, until, isFreed: false, mayBeOverSince: undefined, highest: 0 };
    this.#locks.set(session, [...earlier.filter((one) => one.until > now), lock]);
    this.tally.accepted++;
    return lock;
  }

  /** Whether a lock is certainly live. */
  isCertain({ until, isFreed, mayBeOverSince }: LedgerLock, now = this.#clock.now()): boolean {
    return !isFreed && mayBeOverSince === undefined && now < until;
  }

  /** Records the messages received under a lock. */
  received(lock: LedgerLock, messages: readonly Received[]): readonly LedgerMessage[] {
    return messages.flatMap(({ body, broker }) => {
      const message = this.messages.get(broker.MessageId);
      const what = `${broker.MessageId} of ${lock.session}`;
      this.tally.received++;
      if (message === undefined || message.session !== lock.session) {
        this.report(`${what} was never sent there`);
        return [];
      }
      if (!body.startsWith(message.id)) this.report(`${what} has the body of another message`);
      if (message.number !== undefined && message.number !== broker.SequenceNumber) {
        this.report(`${what} is stored twice`);
      }
      if (message.completed === 'done') this.report(`${what} was received after it was completed`);
      if (broker.SequenceNumber <= lock.highest) this.report(`${what} was received out of order`);
      message.number = broker.SequenceNumber;
      lock.highest = Math.max(lock.highest, broker.SequenceNumber);
      return [message];
    });
  }

  /** Checks all messages at the end. `left` are the ids of the messages that were then received. */
  review(left: readonly string[]): void {
    for (const { lock, by, at } of this.#shared) {
      const isExplained = lock.mayBeOverSince !== undefined && lock.mayBeOverSince <= by;
      if (!isExplained) this.report(`${lock.session} is locked twice`, at);
    }
    for (const id of new Set(left)) {
      const times = left.filter((one) => one === id).length;
      if (times > 1) this.report(`${id} exists ${times} times`);
    }
    const found = new Set(left);
    for (const { id, session, sent, completed } of this.messages.values()) {
      if (completed === 'done' && found.has(id)) this.report(`${id} exists, though completed`);
      const mustBeThere = sent === 'done' && completed === undefined;
      if (mustBeThere && !found.has(id)) this.report(`${id} of ${session} is lost`);
    }
  }
}
