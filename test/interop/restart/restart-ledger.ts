import assert from 'node:assert/strict';
import type { ServiceBusReceivedMessage } from '@azure/service-bus';

/** How long every lock of the test lasts, from its grant on. */
export const LOCK_MS = 300_000;

/** What is known of something that was asked for: an answer may have been lost. */
type Known = 'perhaps' | 'yes';

/** One message in one entity, as receivers have seen it. */
interface Copy {
  readonly id: string;
  deliveryCount: number;
  lockedUntil: number;
  completed: Known | undefined;
}

/**
 * What the clients of a server that is ended and started again were told. Every answer is held
 * against it; what does not fit is noted, since clients swallow what their handlers throw.
 */
export class RestartBook {
  readonly wrong: string[] = [];
  readonly #sent = new Map<string, Known>();
  /** By entity and sequence number: a send that was tried again may be there twice. */
  readonly #copies = new Map<string, Copy>();
  readonly #seen = new Map<string, Set<string>>();

  /** The sends that were acknowledged. */
  get sentCount(): number {
    return [...this.#sent.values()].filter((known) => known === 'yes').length;
  }

  get completedCount(): number {
    return [...this.#copies.values()].filter(({ completed }) => completed === 'yes').length;
  }

  sending(ids: readonly string[]): void {
    for (const id of ids) this.#sent.set(id, 'perhaps');
  }

  sent(ids: readonly string[]): void {
    for (const id of ids) this.#sent.set(id, 'yes');
  }

  /** A message that was handed out under a lock, to which all holds that a lock promises. */
  locked(entity: string, message: ServiceBusReceivedMessage): void {
    const lockedUntil = message.lockedUntilUtc?.getTime() ?? 0;
    this.#note(entity, message, lockedUntil, lockedUntil - LOCK_MS);
  }

  /** One that came within a session, whose lock is another. */
  inSession(entity: string, message: ServiceBusReceivedMessage): void {
    this.#note(entity, message, 0, 0);
  }

  /** One that was removed as it was handed out. */
  removed(entity: string, message: ServiceBusReceivedMessage): void {
    this.#see(entity, message);
    const key = keyOf(entity, message);
    if (this.#copies.has(key)) this.wrong.push(`${key} was removed, and came again`);
    const id = String(message.messageId);
    this.#copies.set(key, { id, deliveryCount: 0, lockedUntil: 0, completed: 'yes' });
  }

  completing(entity: string, message: ServiceBusReceivedMessage): void {
    const copy = this.#copies.get(keyOf(entity, message));
    assert.ok(copy);
    copy.completed ??= 'perhaps';
  }

  completed(entity: string, message: ServiceBusReceivedMessage): void {
    const copy = this.#copies.get(keyOf(entity, message));
    assert.ok(copy);
    copy.completed = 'yes';
  }

  /** What was acknowledged as sent, and was neither seen nor is there, in an entity. */
  unseen(entity: string, prefix: string): readonly string[] {
    const seen = this.#seen.get(entity) ?? new Set();
    return [...this.#sent]
      .filter(([id, known]) => known === 'yes' && id.startsWith(prefix) && !seen.has(id))
      .map(([id]) => id);
  }

  /** What was seen and never completed, though the entity is empty. */
  get unfinished(): readonly string[] {
    return [...this.#copies].filter(([, { completed }]) => !completed).map(([key]) => key);
  }

  /** Messages that are there more than once in an entity: sends that were tried again. */
  twins(entity: string): readonly string[] {
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
    const story = `${key} (${before.deliveryCount}, now ${deliveryCount})`;
    // One that its client passed on late is no news.
    if (deliveryCount < before.deliveryCount) return;
    // A session that is given back in order counts no delivery.
    const isGivenBack = claimedAt === 0;
    if (deliveryCount === before.deliveryCount && !isGivenBack)
      this.wrong.push(`${story} came twice at once`);
    if (before.completed === 'yes') this.wrong.push(`${story} was completed, and came again`);
    if (claimedAt < before.lockedUntil) {
      this.wrong.push(`${story} came ${before.lockedUntil - claimedAt} ms before its lock's end`);
    }
    before.deliveryCount = deliveryCount;
    before.lockedUntil = lockedUntil;
    before.completed = undefined;
  }

  #see(entity: string, message: ServiceBusReceivedMessage): void {
    const id = String(message.messageId);
    if (!this.#sent.has(id)) this.wrong.push(`${id} came, and was never sent`);
    if (message.body !== bodyOf(id)) this.wrong.push(`${id} came with another body`);
    const seen = this.#seen.get(entity) ?? new Set();
    this.#seen.set(entity, seen.add(id));
  }
}

/** What a message with an id says. */
export function bodyOf(id: string): string {
  return `body of ${id}`;
}

function keyOf(entity: string, { sequenceNumber }: ServiceBusReceivedMessage): string {
  return `${entity}#${sequenceNumber}`;
}
