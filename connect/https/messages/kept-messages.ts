import type { ReceivedMessage } from '../../../shared/broker/broker.ts';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';

/** So many messages are kept at most, and those of the requests that are under way by then. */
const KEPT_MAX = 1000;

/** Messages that were deleted for receivers that were gone by then: they are only here, for the next receiver. */
export class KeptMessages {
  /** By queue or session. */
  readonly #kept = new Map<string, readonly ReceivedMessage[]>();
  #count = 0;

  add(key: string, messages: readonly ReceivedMessage[]): void {
    this.#kept.set(key, [...(this.#kept.get(key) ?? []), ...messages]);
    this.#count += messages.length;
  }

  take(key: string, maxMessages: number): readonly ReceivedMessage[] {
    const kept = this.#kept.get(key) ?? [];
    const taken = kept.slice(0, maxMessages);
    if (kept.length > maxMessages) this.#kept.set(key, kept.slice(maxMessages));
    else this.#kept.delete(key);
    this.#count -= taken.length;
    return taken;
  }

  /** Requires room for more before anything else is deleted. Throws ServiceBusy. */
  requireRoom(): void {
    if (this.#count < KEPT_MAX) return;
    throw serviceBusy(
      `${this.#count} messages were deleted for receivers that had been closed, and wait in this process for the next ones: receive those first, from the same queues and sessions.`,
    );
  }
}
