import assert from 'node:assert/strict';
import type {
  Delivery,
  Draft,
  ModelAction,
  ModelMessage,
  Outcome,
  QueueSettings,
  Standing,
} from './model-message.ts';
import { SequenceNumbers } from './sequence-numbers.ts';

/**
 * The expected messages of a queue, with their locks and places. It knows what docs/semantics promises to
 * clients, and nothing of the implementation: no blocks, no contents of lock tokens, no scan hints.
 */
export class QueueModel {
  now: number;
  settings: QueueSettings;
  #hasPolled = false;
  readonly messages: ModelMessage[] = [];
  readonly deliveries: Delivery[] = [];
  readonly numbers = new SequenceNumbers();
  /** The steps so far, one line each. */
  readonly history: string[] = [];

  constructor(settings: QueueSettings, now: number) {
    this.settings = settings;
    this.now = now;
  }

  send(drafts: readonly Draft[]): readonly ModelMessage[] {
    const sent = drafts.map(({ ttlMs, dueAt, bytes }, i): ModelMessage => {
      const id = `m${this.messages.length + i}`;
      const isDue = dueAt === undefined || dueAt <= this.now;
      return {
        id,
        body: `${id} ${'abcdefghij'.repeat(bytes / 10)}`,
        place: 'main',
        state: isDue ? 'Active' : 'Scheduled',
        sequence: undefined,
        enqueuedAt: isDue ? this.now : dueAt,
        ttlMs: this.#clamped(ttlMs),
        deliveries: 0,
        lock: undefined,
        delayedUntil: 0,
        mayBeCleared: false,
        unlockedAt: 0,
        properties: { sent: id },
      };
    });
    this.messages.push(...sent);
    this.numbers.sent(sent);
    return sent;
  }

  /** The entity's time to live is a ceiling (semantics #A10). */
  #clamped(ttlMs: number | undefined): number | undefined {
    const { defaultTtlMs } = this.settings;
    if (ttlMs === undefined || defaultTtlMs === undefined) return ttlMs;
    return Math.min(ttlMs, defaultTtlMs);
  }

  /** Advances the clock and activates due messages. */
  advance(ms: number): void {
    this.now += ms;
    const due = this.messages.filter(
      ({ place, state, enqueuedAt }) =>
        place === 'main' && state === 'Scheduled' && enqueuedAt <= this.now,
    );
    for (const message of due.sort((a, b) => a.enqueuedAt - b.enqueuedAt)) {
      message.state = 'Active';
      this.numbers.becameDue(message);
    }
  }

  isLocked({ lock }: ModelMessage): boolean {
    return lock !== undefined && lock.until > this.now;
  }

  /** Dead letters never expire and are never exhausted; deferred messages are never exhausted. */
  standing(message: ModelMessage): Standing {
    const { place, state, deliveries, delayedUntil } = message;
    if (state === 'Scheduled') return 'scheduled';
    if (this.isLocked(message)) return 'locked';
    if (place === 'main') {
      if (state === 'Active' && deliveries >= this.settings.maxDeliveryCount) return 'exhausted';
      if (this.isExpired(message)) return 'expired';
    }
    return delayedUntil > this.now ? 'delayed' : 'free';
  }

  isExpired(message: ModelMessage): boolean {
    const expiry = this.expiryOf(message);
    return expiry !== undefined && expiry <= this.now;
  }

  /** By its own time to live, or by the entity's current one (semantics V2). */
  expiryOf({ place, ttlMs, enqueuedAt }: ModelMessage): number | undefined {
    const ms = ttlMs ?? (place === 'main' ? this.settings.defaultTtlMs : undefined);
    return ms === undefined ? undefined : enqueuedAt + ms;
  }

  isOver(message: ModelMessage): boolean {
    return ['exhausted', 'expired'].includes(this.standing(message));
  }

  /** Deliveries that ended without success, so without the current one (semantics M14). */
  rawCount(message: ModelMessage): number {
    const isUnderWay = message.place === 'main' && this.isLocked(message);
    return message.deliveries - (isUnderWay ? 1 : 0);
  }

  /** Messages of a place in order; those without a known number last. */
  inOrder(place: 'main' | 'dead'): readonly ModelMessage[] {
    return this.messages
      .filter((message) => message.place === place)
      .sort((a, b) => (a.sequence ?? Infinity) - (b.sequence ?? Infinity));
  }

  byNumber(place: 'main' | 'dead', number: number): ModelMessage | undefined {
    return this.inOrder(place).find(({ sequence }) => sequence === number);
  }

  /** Records that the message was received under a lock. */
  locked(message: ModelMessage, token: string, location: string | undefined): Delivery {
    assert.ok(message.place !== 'gone');
    const until = this.now + this.settings.lockMs;
    const delivery: Delivery = { message, place: message.place, token, location, until };
    if (message.place === 'main') message.deliveries++;
    message.lock = delivery;
    message.delayedUntil = 0;
    this.deliveries.push(delivery);
    return delivery;
  }

  isLive(delivery: Delivery): boolean {
    return delivery.message.lock === delivery && delivery.until > this.now;
  }

  settle(delivery: Delivery, action: ModelAction): Outcome {
    const { message, place } = delivery;
    if (action.kind === 'deadLetter' && place === 'dead') return 'InvalidOperation';
    if (!this.isLive(delivery)) return 'MessageLockLost';
    message.lock = undefined;
    message.unlockedAt = this.now;
    if (action.kind === 'complete') {
      this.remove(message);
      return 'done';
    }
    if (action.mark !== undefined) message.properties['mark'] = action.mark;
    if (action.kind === 'defer') message.state = 'Deferred';
    if (action.kind === 'deadLetter') {
      message.deliveries--;
      this.#moveToDeadLetters(message, { DeadLetterReason: action.reason });
    }
    if (action.kind === 'abandon') {
      message.delayedUntil = this.now + (action.delayMs ?? 0);
    }
    return 'done';
  }

  renew(delivery: Delivery): Outcome {
    if (!this.isLive(delivery)) return 'MessageLockLost';
    delivery.until = this.now + this.settings.lockMs;
    return 'done';
  }

  remove(message: ModelMessage): void {
    message.place = 'gone';
    message.lock = undefined;
    this.numbers.drop(message);
  }

  /** Dead-letters an unlocked message. */
  deadLetter(message: ModelMessage, reason: string): void {
    this.#moveToDeadLetters(message, { DeadLetterReason: reason });
  }

  #moveToDeadLetters(message: ModelMessage, why: Record<string, string | undefined>): void {
    message.place = 'dead';
    message.state = 'Active';
    message.lock = undefined;
    message.delayedUntil = 0;
    message.unlockedAt = 0;
    for (const [name, text] of Object.entries(why)) {
      if (text !== undefined) message.properties[name] = text;
    }
  }

  /** Whether the bus may have moved a message out of the main queue by now. */
  mayHaveLeft(message: ModelMessage): boolean {
    if (message.place !== 'main') return false;
    const standing = this.standing(message);
    return this.hasTakenEffect(message) || (standing === 'expired' && message.mayBeCleared);
  }

  /**
   * Whether the end of a lock ended a message: the lock of its last delivery, or one that ended after its
   * expiry. Every operation sees that effect at once (semantics V4, #24).
   */
  hasTakenEffect(message: ModelMessage): boolean {
    const { place, state, lock, unlockedAt } = message;
    if (place !== 'main' || state !== 'Active') return false;
    const expiry = this.expiryOf(message) ?? Number.POSITIVE_INFINITY;
    const wasProtected = (lock?.until ?? unlockedAt) >= expiry;
    const standing = this.standing(message);
    return standing === 'exhausted' || (standing === 'expired' && wasProtected);
  }

  /** Whether it is then in the dead-letter queue; otherwise it is removed. */
  isKept(message: ModelMessage): boolean {
    return this.standing(message) === 'exhausted' || this.settings.deadLettersExpired;
  }

  /** Records that the bus dead-lettered or removed a lapsed message (semantics #C6). */
  leaveQueue(message: ModelMessage): void {
    assert.ok(this.mayHaveLeft(message), `${message.id} left the queue without a reason`);
    if (!this.isKept(message)) {
      this.remove(message);
    } else if (this.standing(message) === 'exhausted') {
      const count = this.settings.maxDeliveryCount;
      this.#moveToDeadLetters(message, {
        DeadLetterReason: 'MaxDeliveryCountExceeded',
        DeadLetterErrorDescription: `Message could not be consumed after ${count} delivery attempts.`,
      });
    } else {
      this.#moveToDeadLetters(message, {
        DeadLetterReason: 'TTLExpiredException',
        DeadLetterErrorDescription: 'The message expired and was dead lettered.',
      });
    }
  }

  /** A receive on the main queue: from now on the bus may remove what has expired there. */
  polled(): void {
    this.#hasPolled = true;
    this.#allowClearing();
  }

  /** A sweep; it removes expired messages only from queues that are in use (semantics V4). */
  swept(): void {
    if (this.#hasPolled) this.#allowClearing();
  }

  #allowClearing(): void {
    for (const message of this.inOrder('main')) {
      // The bus removes an expired deferred message only when a receiver asks for it (semantics #67).
      const isExpired = this.standing(message) === 'expired';
      if (message.state === 'Active' && isExpired) message.mayBeCleared = true;
    }
  }

  /** An update of the queue, which ends all locks (semantics #14). */
  update(settings: QueueSettings): void {
    this.settings = settings;
    for (const message of this.messages) {
      // By the new settings, a message that had lapsed may be live again.
      message.mayBeCleared = false;
      this.endLock(message);
    }
  }

  /** Ends a lock before its time. The bus may remove the message from now on, if it has expired. */
  endLock(message: ModelMessage): void {
    if (message.lock !== undefined) message.mayBeCleared = true;
    message.lock = undefined;
    message.unlockedAt = 0;
  }

  /** Makes a deferred message active again, with at least one more delivery. */
  reactivated(message: ModelMessage): void {
    const { place, deliveries } = message;
    const most = place === 'main' ? this.settings.maxDeliveryCount - 1 : deliveries;
    message.deliveries = Math.min(deliveries, most);
    message.state = 'Active';
  }

  /** Sends dead letters again as new messages, without the reason of their dead-lettering. */
  resubmit(messages: readonly ModelMessage[]): void {
    for (const message of messages) {
      const { DeadLetterReason: _, DeadLetterErrorDescription: __, ...rest } = message.properties;
      message.properties = rest;
      message.place = 'main';
      message.deliveries = 0;
      message.enqueuedAt = this.now;
      message.ttlMs = this.#clamped(message.ttlMs);
      message.mayBeCleared = false;
    }
    this.numbers.sent(messages);
  }
}
