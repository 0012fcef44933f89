import assert from 'node:assert/strict';
import type { Received } from '../../support/test-broker.ts';

/** Where a message may be. Active and deferred ones are told apart in the dead-letter queue too. */
export type Spot = 'gone' | 'active' | 'deferred' | 'scheduled' | 'dead' | 'deadDeferred';

/** What became of a request: done, refused, or nobody knows. */
export type Knowledge = 'done' | 'refused' | 'unknown';

/** A message as its sender and its receivers know it. */
export interface KnownMessage {
  readonly id: string;
  readonly body: string;
  readonly dueAt: number | undefined;
  readonly hasTtl: boolean;
  /** Every place where it can be, as far as anybody was told. */
  spots: Set<Spot>;
  sequence: number | undefined;
  /** The lock that is held for certain. */
  lock: KnownDelivery | undefined;
  /** Whether its sender has no answer yet. */
  isUnderWay: boolean;
  /** Whether it was removed before its sender had an answer. */
  wasRemovedEarly: boolean;
}

/** A message in somebody's hands. */
export interface KnownDelivery {
  readonly message: KnownMessage;
  readonly place: 'main' | 'dead';
  readonly token: string;
  /** Epoch ms. */
  until: number;
  /** How many settlements were begun. */
  attempts: number;
}

const IN_MAIN: ReadonlySet<Spot> = new Set(['active', 'deferred', 'scheduled']);

/**
 * What may be believed of a queue whose database fails: an operation that was acknowledged has
 * happened, one whose answer was lost has happened or not. Nothing else is let pass.
 */
export class FaultBook {
  readonly messages: KnownMessage[] = [];
  readonly deliveries: KnownDelivery[] = [];
  readonly #dies: boolean;

  /** `dies`: messages may run out of deliveries. */
  constructor({ dies }: { readonly dies: boolean }) {
    this.#dies = dies;
  }

  /** To be entered before the request is made. */
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
   * A send has ended. A write that is repeated because its answer was lost may bring back what was
   * removed in between: that is delivery at least once.
   */
  sent(message: KnownMessage, knowledge: Knowledge, wasRepeated: boolean): void {
    assert.notEqual(knowledge, 'refused', `the send of ${message.id} was refused`);
    message.isUnderWay = false;
    if (message.wasRemovedEarly && wasRepeated) message.spots.add('active');
    else if (knowledge === 'done' && !message.wasRemovedEarly) message.spots.delete('gone');
  }

  /** What was scheduled is active once it is due. */
  moved(now: number): void {
    for (const { spots, dueAt } of this.messages) {
      if (dueAt === undefined || dueAt > now || !spots.delete('scheduled')) continue;
      spots.add('active');
    }
  }

  /** A message was shown or handed out: it must be one that can be here, and whole. */
  recognize(received: Received, spot: Spot): KnownMessage {
    const id = received.broker.MessageId;
    const message = this.messages.find((one) => one.id === id);
    assert.ok(message !== undefined, `nobody sent ${id}`);
    assert.equal(received.body, message.body, `${id} has a foreign body`);
    const known = [...this.#spotsOf(message)].join(' or ');
    assert.ok(this.#spotsOf(message).has(spot), `${id} is ${spot}, and must be ${known}`);
    message.sequence = received.broker.SequenceNumber;
    return message;
  }

  #spotsOf({ spots, hasTtl }: KnownMessage): ReadonlySet<Spot> {
    const isInMain = spots.has('active') || spots.has('deferred');
    const all = new Set(spots);
    if (isInMain && (hasTtl || this.#dies)) all.add('dead');
    if (isInMain && hasTtl) all.add('gone');
    return all;
  }

  /** A message came under a lock; whoever held it before must have lost it. */
  locked(received: Received, spot: Spot, until: number, now: number): void {
    const message = this.recognize(received, spot);
    const holder = message.lock;
    const again = `${message.id} was handed out as delivery ${received.broker.DeliveryCount}`;
    assert.ok(!(holder && holder.until > now), `${again} under the live lock ${holder?.token}`);
    const place = spot === 'dead' || spot === 'deadDeferred' ? 'dead' : 'main';
    const token = received.broker.LockToken;
    const delivery: KnownDelivery = { message, place, token, until, attempts: 0 };
    message.spots = new Set([spot]);
    message.lock = delivery;
    this.deliveries.push(delivery);
  }

  /** A message was removed as it was handed out. */
  removed(received: Received, spot: Spot, now: number): void {
    const message = this.recognize(received, spot);
    const holder = message.lock;
    assert.ok(!(holder && holder.until > now), `${message.id} was removed under a live lock`);
    message.spots = new Set(['gone']);
    message.wasRemovedEarly = message.isUnderWay;
  }

  /** Something that would bring a message elsewhere was done, or perhaps done. */
  brought(message: KnownMessage, to: Spot, knowledge: Knowledge): void {
    if (knowledge === 'done') message.spots = new Set([to]);
    if (knowledge === 'unknown') message.spots.add(to);
  }

  /** Anything at one place may have been brought to another. */
  mayHaveGone(from: Spot, to: Spot): void {
    for (const message of this.messages) {
      if (this.#spotsOf(message).has(from)) message.spots.add(to);
    }
  }

  /** The main queue was emptied, or perhaps was. */
  purged(knowledge: Knowledge): void {
    for (const message of this.messages) {
      const others = [...this.#spotsOf(message)].filter((spot) => !IN_MAIN.has(spot));
      if (others.length === this.#spotsOf(message).size) continue;
      if (knowledge === 'done') message.spots = new Set(['gone', ...others]);
      else message.spots.add('gone');
    }
    this.forgetLocks();
  }

  /** From now on no lock is held for certain. */
  forgetLocks(): void {
    for (const message of this.messages) message.lock = undefined;
  }

  /** Whether a message may come to its end by itself: by time, or by too many deliveries. */
  mayBeOver(id: string): boolean {
    return this.#dies || this.mayExpire(id);
  }

  mayExpire(id: string): boolean {
    return this.messages.some((message) => message.id === id && message.hasTtl);
  }

  /** Compares with everything that there is, once all is quiet. Each message is in one place. */
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
