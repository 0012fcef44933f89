import assert from 'node:assert/strict';
import type { ModelMessage } from './model-message.ts';

/** A message whose number the bus has assigned or will assign, and which the model does not know yet. */
interface Waiting {
  readonly order: Order;
  /** The lowest number that it can have. */
  readonly from: number;
  /** The first number that it cannot have; absent while the bus may not have assigned one yet. */
  to?: number;
  /** A message with this number was received before it, so its own number is higher. */
  above: number;
}

/** The order among messages of one kind: sent ones by send, activated ones by due time. */
interface Order {
  readonly kind: 'sent' | 'due';
  readonly rank: number;
}

/**
 * The sequence numbers of a queue: from 1 on, without gaps, in the order of enqueueing. A scheduled
 * message gets its new number at or after its due time, at the latest with the next peek or receive. So the
 * model learns its number, and the numbers of sends in between, from the bus, and checks that they fit
 * all known numbers.
 */
export class SequenceNumbers {
  #next = 1;
  #sends = 0;
  /** Numbers used since the last `allAssigned` by messages that are no longer in `#waiting`. */
  #used = 0;
  readonly #taken = new Map<number, Order>();
  readonly #waiting = new Map<ModelMessage, Waiting>();

  /** Whether the number of some message is not known. */
  get hasUnknown(): boolean {
    return this.#waiting.size > 0;
  }

  /** Assigns numbers to messages that were just sent, where they are certain. */
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

  /** A scheduled message is due and will get a new number. */
  becameDue(message: ModelMessage): void {
    const scheduled = this.#waiting.get(message);
    // Its number as a scheduled message is used, even if the model never learnt it.
    if (scheduled !== undefined && scheduled.to === undefined) this.#used++;
    this.#waiting.delete(message);
    message.sequence = undefined;
    const order: Order = { kind: 'due', rank: message.enqueuedAt };
    this.#waiting.set(message, { order, from: this.#next, above: 0 });
  }

  /** A peek or receive has activated all due messages: every message now has its number. */
  allAssigned(): void {
    const to = this.#end();
    for (const waiting of this.#unassigned()) waiting.to = to;
    this.#next = to;
    this.#used = 0;
  }

  /** The first number that is certainly unused. */
  #end(): number {
    return this.#next + this.#used + this.#unassigned().length;
  }

  #unassigned(): Waiting[] {
    return [...this.#waiting.values()].filter(({ to }) => to === undefined);
  }

  /** The bus showed a message with this number; checks that it fits. */
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

  /** A message with this number was received while `message`, though available, was not. */
  follows(message: ModelMessage, number: number): void {
    const waiting = this.#waiting.get(message);
    if (waiting !== undefined) waiting.above = Math.max(waiting.above, number);
  }

  /** A message is removed, so its number will never be known. */
  drop(message: ModelMessage): void {
    const waiting = this.#waiting.get(message);
    if (waiting?.to !== undefined) this.#waiting.delete(message);
  }
}
