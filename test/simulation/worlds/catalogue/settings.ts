import type { EntitySettings } from '../../../../shared/broker/management/management.ts';

/** How long locks of queues last in worlds, ms. */
export const LOCK_MS = 30_000;

/** A body of so many bytes is stored apart from its block. */
export const LARGE_BYTES = 10_000;
/** Those of the queue that most worlds have. */
export const DEAD_LETTERS = 'q/$DeadLetterQueue';

type QueueSettings = Omit<Extract<EntitySettings, { readonly kind: 'queue' }>, 'kind'>;

/** A queue as most worlds have it. */
export function queue(settings: QueueSettings = {}): EntitySettings {
  return { kind: 'queue', lockMs: LOCK_MS, ...settings };
}

/** A queue whose messages lie by session. */
export function sessionQueue(settings: QueueSettings = {}): EntitySettings {
  return queue({ requiresSession: true, ...settings });
}
