import type { Clock } from '../../shared/domain/clock.ts';
import type { Received } from './test-broker.ts';

/**
 * The time span of a request as its client sees it: the service carries it out between these two moments.
 * Each moment has a place in the order of this process, and a time of the service's clock.
 */
export interface Span {
  readonly begun: Moment;
  readonly ended: Moment;
}

interface Moment {
  /** Increases with every moment, so that any two are comparable. */
  readonly order: number;
  /** Epoch ms of the service's clock. */
  readonly at: number;
}

/** A delivery as its receiver knows it; renewals increase `until`. */
export interface Delivery {
  readonly message: string;
  readonly received: Received;
  readonly span: Span;
  /** Epoch ms at which the message was locked; for receive-and-delete, the last possible instant. */
  readonly claimedAt: number;
  until: number;
  /** Absent while the message is locked, and if the lock expires. */
  end?: { readonly kind: 'completed' | 'abandoned'; readonly span: Span };
}

export type RaceAction = 'complete' | 'abandon' | 'renew';

/** The outcome of an action: done, lost (the lock was lost), or busy (nothing was done). */
export type RaceOutcome = 'done' | 'lost' | 'busy';

/** A log of all deliveries of a queue, which reports violated guarantees. */
export class RaceLog {
  readonly violations: string[] = [];
  /** The number of messages that receivers have completed or removed. */
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

  /** Sends a request, and returns its answer and time span. */
  async during<T>(request: () => Promise<T>): Promise<{ answer: T; span: Span }> {
    const begun = this.#moment();
    const answer = await request();
    return { answer, span: { begun, ended: this.#moment() } };
  }

  #moment(): Moment {
    return { order: this.#order++, at: this.#clock.now() };
  }

  /** Records the messages of a peek-lock. */
  locked(span: Span, received: readonly Received[]): readonly Delivery[] {
    return received.map((message) => {
      const until = Date.parse(message.broker.LockedUntilUtc);
      const claimedAt = until - this.#lockMs;
      const delivery = this.#enter({ span, received: message, until, claimedAt });
      if (claimedAt < span.begun.at || claimedAt > span.ended.at) {
        this.#report(delivery, 'has a lock that ends too soon or too late');
      }
      return delivery;
    });
  }

  /** Records the messages of a receive-and-delete. */
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
    if (what.received.body !== bodyOf(message)) this.#report(delivery, 'has another body');
    const earlier = this.deliveries.get(message) ?? [];
    earlier.push(delivery);
    this.deliveries.set(message, earlier);
    this.outcomes.delivered++;
    return delivery;
  }

  /** Records the outcome of a settlement or a renewal. `until` is the new end of a renewed lock. */
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
      if (wasLive) this.#report(delivery, `lost a valid lock, according to the ${action}`);
      return;
    }
    if (delivery.end !== undefined) this.#report(delivery, `accepted a second ${action}`);
    if (span.begun.at >= delivery.until) this.#report(delivery, `accepted a late ${action}`);
    if (action === 'renew') this.#renewed(delivery, span, result.until ?? Number.NaN);
    else delivery.end = { kind: action === 'complete' ? 'completed' : 'abandoned', span };
    if (action === 'complete') this.finals++;
  }

  #renewed(delivery: Delivery, span: Span, until: number): void {
    const renewedAt = until - this.#lockMs;
    if (!(renewedAt >= span.begun.at && renewedAt <= span.ended.at)) {
      this.#report(delivery, 'has a renewed lock with a wrong end');
    }
    delivery.until = until;
  }

  /** Checks all deliveries of every message at the end. Each message must be completed. */
  review(messages: readonly string[]): void {
    for (const message of messages) {
      const lives = [...(this.deliveries.get(message) ?? [])].sort(
        (a, b) => countOf(a) - countOf(b),
      );
      if (lives.at(-1)?.end?.kind !== 'completed') {
        this.violations.push(`${message} was never completed, after ${lives.length} deliveries`);
      }
      lives.forEach((delivery, i) => {
        if (countOf(delivery) !== i + 1) this.#report(delivery, `is actually delivery ${i + 1}`);
        const next = lives[i + 1];
        if (next !== undefined) this.#reviewSuccession(delivery, next);
      });
    }
    const unknown = this.deliveries.size - messages.filter((m) => this.deliveries.has(m)).length;
    if (unknown > 0) this.violations.push(`${unknown} messages came that were never sent`);
  }

  /** Checks that the earlier lock was abandoned or had expired when the next delivery was locked. */
  #reviewSuccession(delivery: Delivery, next: Delivery): void {
    if (next.span.ended.order < delivery.span.begun.order) {
      this.#report(next, 'came before the delivery that its DeliveryCount includes');
    }
    const { end } = delivery;
    if (end?.kind === 'completed') {
      this.#report(next, 'came although an earlier one was completed');
    } else if (end?.kind === 'abandoned') {
      const isAfter = end.span.begun.order < next.span.ended.order;
      if (!isAfter) this.#report(next, 'came before the earlier lock was abandoned');
    } else if (next.claimedAt < delivery.until) {
      this.#report(next, 'was locked during an earlier lock');
    }
  }

  #report(delivery: Delivery, sentence: string): void {
    const { message, received, span } = delivery;
    const { DeliveryCount, LockToken = 'removed at once' } = received.broker;
    this.violations.push(
      `${message}, delivery ${DeliveryCount} (${LockToken}, requests ${span.begun.order}-${span.ended.order}): ${sentence}`,
    );
  }
}

/** The body of a message, which depends on its id, so that mixed-up bodies are detected. */
export function bodyOf(message: string): string {
  return `{"id":"${message}","text":"${message.repeat(1 + (message.length % 7))}"}`;
}

function countOf({ received }: Delivery): number {
  return received.broker.DeliveryCount;
}
