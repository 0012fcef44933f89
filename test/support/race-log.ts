import type { Clock } from '../../shared/domain/clock.ts';
import type { Received } from './test-broker.ts';

/**
 * What a request may have been, seen from outside: somewhere between two moments, each of them in
 * the order of this process and by the bus's clock.
 */
export interface Span {
  readonly begun: Moment;
  readonly ended: Moment;
}

interface Moment {
  /** Counted up with every moment that is noted, so that any two can be compared. */
  readonly order: number;
  /** Epoch ms of the clock that the bus goes by. */
  readonly at: number;
}

/** A delivery as its receiver knows it; `until` grows with renewals. */
export interface Delivery {
  readonly message: string;
  readonly received: Received;
  readonly span: Span;
  /** Epoch ms at which the lock was taken; by receive-and-delete, the last possible instant. */
  readonly claimedAt: number;
  until: number;
  /** Absent while held, and where the lock was left to run out. */
  end?: { readonly kind: 'completed' | 'abandoned'; readonly span: Span };
}

export type RaceAction = 'complete' | 'abandon' | 'renew';

/** What came of an action: done, lost (the lock is not held any more), or busy (nothing happened). */
export type RaceOutcome = 'done' | 'lost' | 'busy';

/** Keeps the books over all receivers of a queue, and says where the bus broke a promise. */
export class RaceLog {
  readonly complaints: string[] = [];
  /** Messages that are gone for good, as far as receivers were told. */
  finals = 0;
  readonly outcomes = { delivered: 0, done: 0, lost: 0, busy: 0 };
  readonly deliveries = new Map<string, Delivery[]>();
  readonly #clock: Clock;
  readonly #lockMs: number;
  #order = 0;

  constructor(clock: Clock, lockMs: number) {
    this.#clock = clock;
    this.#lockMs = lockMs;
  }

  /** Does a request and tells the span in which the bus must have carried it out. */
  async during<T>(request: () => Promise<T>): Promise<{ answer: T; span: Span }> {
    const begun = this.#moment();
    const answer = await request();
    return { answer, span: { begun, ended: this.#moment() } };
  }

  #moment(): Moment {
    return { order: this.#order++, at: this.#clock.now() };
  }

  /** Enters what a peek-lock brought. */
  locked(span: Span, received: readonly Received[]): readonly Delivery[] {
    return received.map((message) => {
      const until = Date.parse(message.broker.LockedUntilUtc);
      const claimedAt = until - this.#lockMs;
      const delivery = this.#enter({ span, received: message, until, claimedAt });
      if (claimedAt < span.begun.at || claimedAt > span.ended.at) {
        this.#complain(delivery, 'has a lock that ends too soon or too late');
      }
      return delivery;
    });
  }

  /** Enters what a receive-and-delete brought. */
  removed(span: Span, received: readonly Received[]): void {
    for (const message of received) {
      const claimedAt = span.ended.at;
      const delivery = this.#enter({ span, received: message, until: claimedAt, claimedAt });
      delivery.end = { kind: 'completed', span };
      this.finals++;
    }
  }

  #enter(what: Omit<Delivery, 'message'>): Delivery {
    const message = what.received.broker.MessageId;
    const delivery: Delivery = { message, ...what };
    if (what.received.body !== bodyOf(message)) this.#complain(delivery, 'has a foreign body');
    const earlier = this.deliveries.get(message) ?? [];
    earlier.push(delivery);
    this.deliveries.set(message, earlier);
    this.outcomes.delivered++;
    return delivery;
  }

  /** Enters what came of settling or renewing. `until` is the new end after a renewal. */
  acted(
    delivery: Delivery,
    action: RaceAction,
    result: { readonly outcome: RaceOutcome; readonly span: Span; readonly until?: number },
  ): void {
    const { outcome, span } = result;
    this.outcomes[outcome]++;
    if (outcome === 'busy') return;
    if (outcome === 'lost') {
      const wasLive = delivery.end === undefined && span.ended.at < delivery.until;
      if (wasLive) this.#complain(delivery, `lost its live lock, said the ${action}`);
      return;
    }
    if (delivery.end !== undefined) this.#complain(delivery, `took a second end by ${action}`);
    if (span.begun.at >= delivery.until) this.#complain(delivery, `took a late ${action}`);
    if (action === 'renew') this.#renewed(delivery, span, result.until ?? Number.NaN);
    else delivery.end = { kind: action === 'complete' ? 'completed' : 'abandoned', span };
    if (action === 'complete') this.finals++;
  }

  #renewed(delivery: Delivery, span: Span, until: number): void {
    const renewedAt = until - this.#lockMs;
    if (!(renewedAt >= span.begun.at && renewedAt <= span.ended.at)) {
      this.#complain(delivery, 'was renewed until a wrong instant');
    }
    delivery.until = until;
  }

  /** Goes through the life of every message once all is over. Each is to be gone. */
  review(messages: readonly string[]): void {
    for (const message of messages) {
      const lives = [...(this.deliveries.get(message) ?? [])].sort(
        (a, b) => countOf(a) - countOf(b),
      );
      if (lives.at(-1)?.end?.kind !== 'completed') {
        this.complaints.push(`${message} was never completed, after ${lives.length} deliveries`);
      }
      lives.forEach((delivery, i) => {
        if (countOf(delivery) !== i + 1) this.#complain(delivery, `is delivery ${i + 1} in truth`);
        const next = lives[i + 1];
        if (next !== undefined) this.#reviewSuccession(delivery, next);
      });
    }
    const strangers = this.deliveries.size - messages.filter((m) => this.deliveries.has(m)).length;
    if (strangers > 0) this.complaints.push(`${strangers} messages came that were never sent`);
  }

  /** A lock may only follow upon one that was given up, or had run out when it was taken. */
  #reviewSuccession(delivery: Delivery, next: Delivery): void {
    if (next.span.ended.order < delivery.span.begun.order) {
      this.#complain(next, 'came before the delivery it counts');
    }
    const { end } = delivery;
    if (end?.kind === 'completed') {
      this.#complain(next, 'came although an earlier one was completed');
    } else if (end?.kind === 'abandoned') {
      const isAfter = end.span.begun.order < next.span.ended.order;
      if (!isAfter) this.#complain(next, 'came before the earlier lock was abandoned');
    } else if (next.claimedAt < delivery.until) {
      this.#complain(next, 'was locked under a live lock');
    }
  }

  #complain(delivery: Delivery, sentence: string): void {
    const { message, received, span } = delivery;
    const { DeliveryCount, LockToken = 'removed at once' } = received.broker;
    this.complaints.push(
      `${message}, delivery ${DeliveryCount} (${LockToken}, requests ${span.begun.order}-${span.ended.order}): ${sentence}`,
    );
  }
}

/** The body that a message of a race has, so that a mix-up of bodies shows. */
export function bodyOf(message: string): string {
  return `{"id":"${message}","text":"${message.repeat(1 + (message.length % 7))}"}`;
}

function countOf({ received }: Delivery): number {
  return received.broker.DeliveryCount;
}
