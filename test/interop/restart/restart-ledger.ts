import assert from 'node:assert/strict';
import type { ServiceBusReceivedMessage } from '@azure/service-bus';

/** The duration of every lock of the test. */
export const LOCK_MS = 300_000;

/** Whether a request took effect: 'possibly' before or without its answer. */
type Known = 'possibly' | 'yes';

/** One message in one entity, as receivers have seen it. */
interface Copy {
  readonly id: string;
  deliveryCount: number;
  /** By the machine's clock, by which clients are told the ends of locks. */
  lockedUntil: number;
  completed: Known | undefined;
}

/**
 * Records what a server acknowledged to its clients while it is ended and started again, and checks every
 * delivery against it. Violations are collected, because clients ignore what their handlers throw.
 */
export class RestartLedger {
  readonly violations: string[] = [];
  readonly #sent = new Map<string, Known>();
  /** By entity and sequence number: a send that was retried may be stored twice. */
  readonly #copies = new Map<string, Copy>();
  readonly #seen = new Map<string, Set<string>>();
  /** How far the server's clock was moved in all. */
  #movedMs = 0;

  /** The number of acknowledged messages. */
  get sentCount(): number {
    return [...this.#sent.values()].filter((known) => known === 'yes').length;
  }

  get completedCount(): number {
    return [...this.#copies.values()].filter(({ completed }) => completed === 'yes').length;
  }

  /** Notes that the server's clock was moved, so that locks end so much earlier by the machine's. */
  moved(ms: number): void {
    for (const copy of this.#copies.values()) copy.lockedUntil -= ms;
    this.#movedMs += ms;
  }

  sending(ids: readonly string[]): void {
    for (const id of ids) this.#sent.set(id, 'possibly');
  }

  sent(ids: readonly string[]): void {
    for (const id of ids) this.#sent.set(id, 'yes');
  }

  /** Notes a message that was delivered under a message lock, and checks all that the lock guarantees. */
  locked(entity: string, message: ServiceBusReceivedMessage): void {
    const end = message.lockedUntilUtc?.getTime() ?? 0;
    // The message may have been locked before any of the moves. They come after all restarts.
    this.#note(entity, message, end - this.#movedMs, end - LOCK_MS);
  }

  /** Notes a message that was delivered in a session, under the session's lock. */
  inSession(entity: string, message: ServiceBusReceivedMessage): void {
    this.#note(entity, message, 0, 0);
  }

  /** Notes a message that a receiver in receive-and-delete mode got. */
  removed(entity: string, message: ServiceBusReceivedMessage): void {
    this.#see(entity, message);
    const key = keyOf(entity, message);
    if (this.#copies.has(key)) this.violations.push(`${key} was removed and delivered again`);
    const id = String(message.messageId);
    this.#copies.set(key, { id, deliveryCount: 0, lockedUntil: 0, completed: 'yes' });
  }

  completing(entity: string, message: ServiceBusReceivedMessage): void {
    const copy = this.#copies.get(keyOf(entity, message));
    assert.ok(copy);
    copy.completed ??= 'possibly';
  }

  completed(entity: string, message: ServiceBusReceivedMessage): void {
    const copy = this.#copies.get(keyOf(entity, message));
    assert.ok(copy);
    copy.completed = 'yes';
  }

  /** The ids with a prefix that were acknowledged as sent and never received from an entity. */
  unseen(entity: string, prefix: string): readonly string[] {
    const seen = this.#seen.get(entity) ?? new Set();
    return [...this.#sent]
      .filter(([id, known]) => known === 'yes' && id.startsWith(prefix) && !seen.has(id))
      .map(([id]) => id);
  }

  /** The messages that were received and never completed. The entities must be empty. */
  get unfinished(): readonly string[] {
    return [...this.#copies].filter(([, { completed }]) => !completed).map(([key]) => key);
  }

  /** The ids that an entity held more than once, after retried sends. */
  duplicates(entity: string): readonly string[] {
    const ids = [...this.#copies]
      .filter(([key]) => key.startsWith(`${entity}#`))
      .map(([, { id }]) => id);
    return ids.filter((id, i) => ids.indexOf(id) !== i);
  }

  #note(
    entity: string,
    message: ServiceBusReceivedMessage,
    lockedUntil: number,
    claimedAt: number,
  ): void {
    this.#see(entity, message);
    const key = keyOf(entity, message);
    const { deliveryCount = 0 } = message;
    const before = this.#copies.get(key);
    if (before === undefined) {
      const id = String(message.messageId);
      this.#copies.set(key, { id, deliveryCount, lockedUntil, completed: undefined });
      return;
    }
    const what = `${key} (${before.deliveryCount}, now ${deliveryCount})`;
    // The client passed on an earlier delivery late.
    if (deliveryCount < before.deliveryCount) return;
    // The release of a session counts no delivery.
    const isInSession = claimedAt === 0;
    if (deliveryCount === before.deliveryCount && !isInSession)
      this.violations.push(`${what} was delivered twice under one count`);
    if (before.completed === 'yes')
      this.violations.push(`${what} was completed and delivered again`);
    if (claimedAt < before.lockedUntil) {
      this.violations.push(
        `${what} was delivered ${before.lockedUntil - claimedAt} ms before the end of its lock`,
      );
    }
    before.deliveryCount = deliveryCount;
    before.lockedUntil = lockedUntil;
    before.completed = undefined;
  }

  #see(entity: string, message: ServiceBusReceivedMessage): void {
    const id = String(message.messageId);
    if (!this.#sent.has(id)) this.violations.push(`${id} was received and never sent`);
    if (message.body !== bodyOf(id)) this.violations.push(`${id} was received with another body`);
    const seen = this.#seen.get(entity) ?? new Set();
    this.#seen.set(entity, seen.add(id));
  }
}

/** The body of the message with an id. */
export function bodyOf(id: string): string {
  return `body of ${id}`;
}

function keyOf(entity: string, { sequenceNumber }: ServiceBusReceivedMessage): string {
  return `${entity}#${sequenceNumber}`;
}
