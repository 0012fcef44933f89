import assert from 'node:assert/strict';
import type { ModelMessage } from './model-message.ts';

/** A message whose number is fixed but not known yet. */
interface Waiting {
  readonly order: Order;
  /** The lowest number it can have got. */
  readonly from: number;
  /** The first number it cannot have got; absent while it may not even have one. */
  to?: number;
  /** A message with this number came before it. */
  above: number;
}

/** Among those of one kind the order is known: of sends, of due times. */
interface Order {
  readonly kind: 'sent' | 'due';
  readonly rank: number;
}

/**
 * Sequence numbers of a queue: without gaps, from 1 on, in the order of enqueueing. A scheduled
 * message gets its new number at some moment from its due time on, at the latest when somebody
 * looks at the queue; so its number, and those of sends in between, are learnt as they are seen, and
 * must then fit to all that is known.
 */
export class NumberBook {
  #next = 1;
  #sends = 0;
  /** How many numbers were given out since the last look to messages that wait no longer. */
  #used = 0;
  readonly #taken = new Map<number, Order>();
  readonly #waiting = new Map<ModelMessage, Waiting>();

  /** Whether some message has a number that nobody has seen. */
  get isOpen(): boolean {
    return this.#waiting.size > 0;
  }

  /** Numbers for messages that were just sent. */
  sent(messages: readonly ModelMessage[]): void {
    const isFixed = this.#end() === this.#next;
    for (const message of messages) {
      const order: Order = { kind: 'sent', rank: this.#sends++ };
      if (isFixed) {
        message.sequence = this.#next++;
        this.#taken.set(message.sequence, order);
      } else {
        message.sequence = undefined;
        this.#waiting.set(message, { order, from: this.#next, above: 0 });
      }
    }
  }

  /** A scheduled message has come due, and waits for its new number. */
  cameDue(message: ModelMessage): void {
    const scheduled = this.#waiting.get(message);
    // The number under which it was scheduled is used up, whichever it was.
    if (scheduled !== undefined && scheduled.to === undefined) this.#used++;
    this.#waiting.delete(message);
    message.sequence = undefined;
    const order: Order = { kind: 'due', rank: message.enqueuedAt };
    this.#waiting.set(message, { order, from: this.#next, above: 0 });
  }

  /** Somebody looks at the queue: from now on everything in it has its number. */
  looked(): void {
    const to = this.#end();
    for (const waiting of this.#unseen()) waiting.to = to;
    this.#next = to;
    this.#used = 0;
  }

  /** The first number that is free for certain. */
  #end(): number {
    return this.#next + this.#used + this.#unseen().length;
  }

  #unseen(): Waiting[] {
    return [...this.#waiting.values()].filter(({ to }) => to === undefined);
  }

  /** A message was seen with this number. */
  learn(message: ModelMessage, number: number): void {
    const waiting = this.#waiting.get(message);
    if (waiting === undefined) {
      assert.equal(number, message.sequence, `${message.id} has another sequence number`);
      return;
    }
    const { order, from, above } = waiting;
    const to = waiting.to ?? this.#end();
    const range = `a number from ${Math.max(from, above + 1)} to ${to - 1}`;
    assert.ok(number >= from && number > above && number < to, `${message.id} must have ${range}`);
    for (const [other, { kind, rank }] of this.#taken) {
      assert.notEqual(other, number, `${message.id} has the number of another message`);
      if (kind !== order.kind || rank === order.rank) continue;
      assert.equal(other < number, rank < order.rank, `${message.id} is out of order`);
    }
    if (waiting.to === undefined) this.#used++;
    message.sequence = number;
    this.#taken.set(number, order);
    this.#waiting.delete(message);
  }

  /** A message with this number came out while this one, which could be had, did not. */
  follows(message: ModelMessage, number: number): void {
    const waiting = this.#waiting.get(message);
    if (waiting !== undefined) waiting.above = Math.max(waiting.above, number);
  }

  /** A message is gone; what number it had will never be known. */
  drop(message: ModelMessage): void {
    const waiting = this.#waiting.get(message);
    if (waiting?.to !== undefined) this.#waiting.delete(message);
  }
}
