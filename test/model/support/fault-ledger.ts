import assert from 'node:assert/strict';
import type { Received } from '../../support/test-broker.ts';

/** Where a message may be: `dead` is active in the dead-letter queue, `deadDeferred` deferred there. */
export type Spot = 'gone' | 'active' | 'deferred' | 'scheduled' | 'dead' | 'deadDeferred';

/** The outcome of a request as its client knows it; `unknown` where the answer was lost. */
export type Knowledge = 'done' | 'refused' | 'unknown';

/** What the sender and the receivers of a message know about it. */
export interface KnownMessage {
  readonly id: string;
  readonly body: string;
  readonly dueAt: number | undefined;
  readonly hasTtl: boolean;
  /** Every place where it can be, according to the answers so far. */
  spots: Set<Spot>;
  sequence: number | undefined;
  /** The lock that certainly exists. */
  lock: KnownDelivery | undefined;
  /** Whether its sender still waits for the answer. */
  isUnderWay: boolean;
  /** Whether it was removed before its sender had an answer. */
  wasRemovedEarly: boolean;
}

/** A message that was received under a lock. */
export interface KnownDelivery {
  readonly message: KnownMessage;
  readonly place: 'main' | 'dead';
  readonly token: string;
  /** Epoch ms. */
  until: number;
  /** How many settlements were started. */
  attempts: number;
}

const IN_MAIN: ReadonlySet<Spot> = new Set(['active', 'deferred', 'scheduled']);

/**
 * The possible contents of a queue whose database fails: an acknowledged operation has taken effect; one
 * whose answer was lost may have. Any other content fails the test.
 */
export class FaultLedger {
  readonly messages: KnownMessage[] = [];
  readonly deliveries: KnownDelivery[] = [];
  readonly #canExhaust: boolean;

  /** `canExhaust`: messages may reach the maximum delivery count. */
  constructor({ canExhaust }: { readonly canExhaust: boolean }) {
    this.#canExhaust = canExhaust;
  }

  /** Records a message before the request that sends it. */
  sending(dueAt: number | undefined, hasTtl: boolean, bytes: number): KnownMessage {
    const id = `m${this.messages.length}`;
    const body = `${id} ${'abcdefghij'.repeat(bytes / 10)}`;
    const spots = new Set<Spot>(['gone', dueAt === undefined ? 'active' : 'scheduled']);
    const message: KnownMessage = {
      ...{ id, body, dueAt, hasTtl, spots },
      sequence: undefined,
      lock: undefined,
      isUnderWay: true,
      wasRemovedEarly: false,
    };
    this.messages.push(message);
    return message;
  }

  /**
   * Records the end of a send. A write that is repeated because its answer was lost may restore a message
   * that was removed in between: delivery is at least once.
   */
  sent(message: KnownMessage, knowledge: Knowledge, wasRepeated: boolean): void {
    assert.notEqual(knowledge, 'refused', `the send of ${message.id} was refused`);
    message.isUnderWay = false;
    if (message.wasRemovedEarly && wasRepeated) message.spots.add('active');
    else if (knowledge === 'done' && !message.wasRemovedEarly) message.spots.delete('gone');
  }

  /** Records that scheduled messages are active once they are due. */
  activated(now: number): void {
    for (const { spots, dueAt } of this.messages) {
      if (dueAt === undefined || dueAt > now || !spots.delete('scheduled')) continue;
      spots.add('active');
    }
  }

  /** Checks that a returned message was sent, may be at this place, and has its body. */
  recognize(received: Received, spot: Spot): KnownMessage {
    const id = received.broker.MessageId;
    const message = this.messages.find((one) => one.id === id);
    assert.ok(message !== undefined, `${id} was never sent`);
    assert.equal(received.body, message.body, `${id} has the body of another message`);
    const known = [...this.#spotsOf(message)].join(' or ');
    assert.ok(this.#spotsOf(message).has(spot), `${id} is ${spot}, and must be ${known}`);
    message.sequence = received.broker.SequenceNumber;
    return message;
  }

  #spotsOf({ spots, hasTtl }: KnownMessage): ReadonlySet<Spot> {
    const isInMain = spots.has('active') || spots.has('deferred');
    const all = new Set(spots);
    if (isInMain && (hasTtl || this.#canExhaust)) all.add('dead');
    if (isInMain && hasTtl) all.add('gone');
    return all;
  }

  /** Records a delivery under a lock; no earlier lock of the message may be live. */
  locked(received: Received, spot: Spot, until: number, now: number): void {
    const message = this.recognize(received, spot);
    const holder = message.lock;
    const again = `${message.id} was received as delivery ${received.broker.DeliveryCount}`;
    assert.ok(!(holder && holder.until > now), `${again} under the live lock ${holder?.token}`);
    const place = spot === 'dead' || spot === 'deadDeferred' ? 'dead' : 'main';
    const token = received.broker.LockToken;
    const delivery: KnownDelivery = { message, place, token, until, attempts: 0 };
    message.spots = new Set([spot]);
    message.lock = delivery;
    this.deliveries.push(delivery);
  }

  /** Records a message that was received and deleted. */
  removed(received: Received, spot: Spot, now: number): void {
    const message = this.recognize(received, spot);
    const holder = message.lock;
    assert.ok(!(holder && holder.until > now), `${message.id} was removed under a live lock`);
    message.spots = new Set(['gone']);
    message.wasRemovedEarly = message.isUnderWay;
  }

  /** Records an operation that moves a message, which was done or may have been. */
  moved(message: KnownMessage, to: Spot, knowledge: Knowledge): void {
    if (knowledge === 'done') message.spots = new Set([to]);
    if (knowledge === 'unknown') message.spots.add(to);
  }

  /** Records that any message at one place may have activated to another. */
  mayHaveMoved(from: Spot, to: Spot): void {
    for (const message of this.messages) {
      if (this.#spotsOf(message).has(from)) message.spots.add(to);
    }
  }

  /** Records a purge of the main queue, which was done or may have been. */
  purged(knowledge: Knowledge): void {
    for (const message of this.messages) {
      const others = [...this.#spotsOf(message)].filter((spot) => !IN_MAIN.has(spot));
      if (others.length === this.#spotsOf(message).size) continue;
      if (knowledge === 'done') message.spots = new Set(['gone', ...others]);
      else message.spots.add('gone');
    }
    this.forgetLocks();
  }

  /** From now on no lock certainly exists. */
  forgetLocks(): void {
    for (const message of this.messages) message.lock = undefined;
  }

  /** Whether a message may expire or reach the maximum delivery count. */
  mayHaveLapsed(id: string): boolean {
    return this.#canExhaust || this.mayExpire(id);
  }

  mayExpire(id: string): boolean {
    return this.messages.some((message) => message.id === id && message.hasTtl);
  }

  /** Compares with all messages that exist when no request is under way. Each must be in one place. */
  checkFound(found: readonly { readonly received: Received; readonly spot: Spot }[]): void {
    const ids = found.map(({ received }) => received.broker.MessageId);
    const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
    assert.deepEqual(twice, [], 'messages are in two places');
    for (const { received, spot } of found) this.recognize(received, spot);
    const lost = this.messages.filter(
      (message) => !ids.includes(message.id) && !this.#spotsOf(message).has('gone'),
    );
    assert.deepEqual(
      lost.map(({ id, spots }) => `${id}, which was ${[...spots].join(' or ')}`),
      [],
      'acknowledged messages are lost',
    );
  }
}
