import { type ManualClock, START } from '../../support/manual-clock.ts';
import type { Received } from '../../support/test-broker.ts';

/** What became of a request: done, or nobody knows. */
export type Fate = 'done' | 'unknown';

/** A message as its sender and its holders know it. */
export interface BookedMessage {
  readonly id: string;
  readonly session: string;
  sent: Fate | undefined;
  /** Of its completion. */
  completed: Fate | undefined;
  number: number | undefined;
}

/** A lock on a session as its holder knows it. */
export interface BookedLock {
  readonly session: string;
  readonly token: string;
  /** Epoch ms; absent once nobody can tell when it ends. */
  until: number;
  /** Whether somebody began to give it back. */
  isLetGo: boolean;
  /** How many acceptances there had been when a receive began after which the bus may have ended it. */
  mayBeOverSince: number | undefined;
  /** The highest number that came under it; nothing may come from in front of that. */
  highest: number;
}

/** Keeps the books over all senders and holders of a queue, and says where the bus broke a promise. */
export class SessionBook {
  readonly complaints: string[] = [];
  readonly messages = new Map<string, BookedMessage>();
  readonly tally = { sent: 0, accepted: 0, received: 0, completed: 0, lost: 0, unknown: 0 };
  readonly #locks = new Map<string, BookedLock[]>();
  readonly #clock: ManualClock;
  /** Live locks beside which another was given, and at which acceptance: a receive may yet explain it. */
  readonly #robbed: { readonly lock: BookedLock; readonly by: number; readonly at: number }[] = [];

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  complain(sentence: string, at = this.#clock.now()): void {
    this.complaints.push(`at ${(at - START) / 1000} s: ${sentence}`);
  }

  sending(session: string): BookedMessage {
    const id = `m${this.messages.size}`;
    const message = { id, session, sent: undefined, completed: undefined, number: undefined };
    this.messages.set(id, message);
    return message;
  }

  /** Enters a lock. If it is live, whoever else surely holds the session now was robbed. */
  accepted(session: string, token: string, until: number): BookedLock {
    const now = this.#clock.now();
    const earlier = this.#locks.get(session) ?? [];
    for (const lock of earlier) {
      const isRobbed = now < until && this.isSure(lock, now);
      if (isRobbed) this.#robbed.push({ lock, by: this.tally.accepted, at: now });
    }
    const lock = { session, token, until, isLetGo: false, mayBeOverSince: undefined, highest: 0 };
    this.#locks.set(session, [...earlier.filter((one) => one.until > now), lock]);
    this.tally.accepted++;
    return lock;
  }

  /** Whether a lock is live beyond doubt. */
  isSure({ until, isLetGo, mayBeOverSince }: BookedLock, now = this.#clock.now()): boolean {
    return !isLetGo && mayBeOverSince === undefined && now < until;
  }

  /** Enters what came under a lock. */
  received(lock: BookedLock, messages: readonly Received[]): readonly BookedMessage[] {
    return messages.flatMap(({ body, broker }) => {
      const message = this.messages.get(broker.MessageId);
      const what = `${broker.MessageId} of ${lock.session}`;
      this.tally.received++;
      if (message === undefined || message.session !== lock.session) {
        this.complain(`${what} was never sent there`);
        return [];
      }
      if (!body.startsWith(message.id)) this.complain(`${what} has a foreign body`);
      if (message.number !== undefined && message.number !== broker.SequenceNumber) {
        this.complain(`${what} is stored twice`);
      }
      if (message.completed === 'done') this.complain(`${what} came after it was completed`);
      if (broker.SequenceNumber <= lock.highest) this.complain(`${what} came out of order`);
      message.number = broker.SequenceNumber;
      lock.highest = Math.max(lock.highest, broker.SequenceNumber);
      return [message];
    });
  }

  /** Goes through all messages after everything that was left was received: those ids, in that order. */
  review(left: readonly string[]): void {
    for (const { lock, by, at } of this.#robbed) {
      const isExplained = lock.mayBeOverSince !== undefined && lock.mayBeOverSince <= by;
      if (!isExplained) this.complain(`${lock.session} is locked twice`, at);
    }
    for (const id of new Set(left)) {
      const times = left.filter((one) => one === id).length;
      if (times > 1) this.complain(`${id} is there ${times} times`);
    }
    const found = new Set(left);
    for (const { id, session, sent, completed } of this.messages.values()) {
      if (completed === 'done' && found.has(id)) this.complain(`${id} is there, though completed`);
      const mustBeThere = sent === 'done' && completed === undefined;
      if (mustBeThere && !found.has(id)) this.complain(`${id} of ${session} is lost`);
    }
  }
}
