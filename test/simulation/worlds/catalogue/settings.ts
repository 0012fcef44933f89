import type { EntitySettings } from '../../../../shared/broker/management/describe-entity.ts';

/** The lock duration of queues, ms. */
export const LOCK_MS = 30_000;

/** A body of this size becomes a payload, stored outside its block. */
export const LARGE_BYTES = 10_000;
/** The dead-letter queue of `q`, the queue of most worlds. */
export const DEAD_LETTERS = 'q/$DeadLetterQueue';

type QueueSettings = Omit<Extract<EntitySettings, { readonly kind: 'queue' }>, 'kind'>;

/** The settings of a queue, with the usual lock duration. */
export function queue(settings: QueueSettings = {}): EntitySettings {
  return { kind: 'queue', lockMs: LOCK_MS, ...settings };
}

/** The settings of a queue that requires sessions. */
export function sessionQueue(settings: QueueSettings = {}): EntitySettings {
  return queue({ requiresSession: true, ...settings });
}
