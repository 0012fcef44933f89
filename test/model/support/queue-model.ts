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
import { NumberBook } from './number-book.ts';

/**
 * Who holds what until when, and in which store. It knows no blocks, no tokens' insides and no
 * memory of fronts; only what docs/semantics promises to clients.
 */
export class QueueModel {
  now: number;
  settings: QueueSettings;
  #hasPolled = false;
  readonly messages: ModelMessage[] = [];
  readonly deliveries: Delivery[] = [];
  readonly numbers = new NumberBook();
  /** What was done, in words. */
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

  /** Time goes on; what was scheduled comes due. */
  advance(ms: number): void {
    this.now += ms;
    const due = this.messages.filter(
      ({ place, state, enqueuedAt }) =>
        place === 'main' && state === 'Scheduled' && enqueuedAt <= this.now,
    );
    for (const message of due.sort((a, b) => a.enqueuedAt - b.enqueuedAt)) {
      message.state = 'Active';
      this.numbers.cameDue(message);
    }
  }

  isLocked({ lock }: ModelMessage): boolean {
    return lock !== undefined && lock.until > this.now;
  }

  /** A dead-letter queue knows no expiry and no patience; deferred messages only no patience. */
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

  /** Its own, or the entity's as it is now (semantics V2). */
  expiryOf({ place, ttlMs, enqueuedAt }: ModelMessage): number | undefined {
    const ms = ttlMs ?? (place === 'main' ? this.settings.defaultTtlMs : undefined);
    return ms === undefined ? undefined : enqueuedAt + ms;
  }

  isOver(message: ModelMessage): boolean {
    return ['exhausted', 'expired'].includes(this.standing(message));
  }

  /** Deliveries that ended without success: all but the one under way (semantics M14). */
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

  /** The message was handed out under a lock. */
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
      this.#bury(message, { DeadLetterReason: action.reason });
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

  /** Dead-letters a message that nobody holds. */
  deadLetter(message: ModelMessage, reason: string): void {
    this.#bury(message, { DeadLetterReason: reason });
  }

  #bury(message: ModelMessage, why: Record<string, string | undefined>): void {
    message.place = 'dead';
    message.state = 'Active';
    message.lock = undefined;
    message.delayedUntil = 0;
    message.unlockedAt = 0;
    for (const [name, text] of Object.entries(why)) {
      if (text !== undefined) message.properties[name] = text;
    }
  }

  /** Whether the bus may have taken a message out of the main queue by now. */
  mayHaveLeft(message: ModelMessage): boolean {
    if (message.place !== 'main') return false;
    const standing = this.standing(message);
    return this.hasTakenEffect(message) || (standing === 'expired' && message.mayBeCleared);
  }

  /**
   * Whether a message is over since the end of a lock: its last delivery's, or one that outlasted
   * its time to live. That takes effect at once, whoever looks (semantics V4, #24).
   */
  hasTakenEffect(message: ModelMessage): boolean {
    const { place, state, lock, unlockedAt } = message;
    if (place !== 'main' || state !== 'Active') return false;
    const expiry = this.expiryOf(message) ?? Number.POSITIVE_INFINITY;
    const wasProtected = (lock?.until ?? unlockedAt) >= expiry;
    const standing = this.standing(message);
    return standing === 'exhausted' || (standing === 'expired' && wasProtected);
  }

  /** Whether it then lies in the dead-letter queue. */
  isKept(message: ModelMessage): boolean {
    return this.standing(message) === 'exhausted' || this.settings.deadLettersExpired;
  }

  /** The bus took a message that was over where it belongs (semantics #C6). */
  left(message: ModelMessage): void {
    assert.ok(this.mayHaveLeft(message), `${message.id} left the queue without a reason`);
    if (!this.isKept(message)) {
      this.remove(message);
    } else if (this.standing(message) === 'exhausted') {
      const count = this.settings.maxDeliveryCount;
      this.#bury(message, {
        DeadLetterReason: 'MaxDeliveryCountExceeded',
        DeadLetterErrorDescription: `Message could not be consumed after ${count} delivery attempts.`,
      });
    } else {
      this.#bury(message, {
        DeadLetterReason: 'TTLExpiredException',
        DeadLetterErrorDescription: 'The message expired and was dead lettered.',
      });
    }
  }

  /** A receiver asked the main queue; what has expired there may be cleared away from now on. */
  polled(): void {
    this.#hasPolled = true;
    this.#allowClearing();
  }

  /** The sweep clears only queues that are in use (semantics V4). */
  swept(): void {
    if (this.#hasPolled) this.#allowClearing();
  }

  #allowClearing(): void {
    for (const message of this.inOrder('main')) {
      // Deferred ones only by those who ask for them (semantics #67).
      const isExpired = this.standing(message) === 'expired';
      if (message.state === 'Active' && isExpired) message.mayBeCleared = true;
    }
  }

  /** A property of the queue changed, which ends all locks (semantics #14). */
  update(settings: QueueSettings): void {
    this.settings = settings;
    for (const message of this.messages) {
      // What lies there although it was over may no longer be over.
      message.mayBeCleared = false;
      this.cutShort(message);
    }
  }

  /** A lock ends before its time. What had expired under it may be cleared away from now on. */
  cutShort(message: ModelMessage): void {
    if (message.lock !== undefined) message.mayBeCleared = true;
    message.lock = undefined;
    message.unlockedAt = 0;
  }

  /** A deferred message is active again, and gets one more delivery at least. */
  reactivated(message: ModelMessage): void {
    const { place, deliveries } = message;
    const most = place === 'main' ? this.settings.maxDeliveryCount - 1 : deliveries;
    message.deliveries = Math.min(deliveries, most);
    message.state = 'Active';
  }

  /** Sends dead letters again as new messages, which forget why they died. */
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
