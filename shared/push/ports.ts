import type { Consumer } from '../domain/consumers/consumer.ts';
import type { Entity } from '../domain/entities/entity.ts';
import type { LockedMessage } from '../domain/messages/message.ts';

/** Names a consumer. */
export interface ConsumerReference {
  /** The key of the entity. */
  readonly entityKey: string;
  readonly entityId: string;
  /** The key of the consumer among those of the entity; see `consumerKey`. */
  readonly consumer: string;
}

/** What one call of a target carries. */
export interface Batch {
  readonly entity: Entity;
  readonly consumer: Consumer;
  /** The session whose messages they are, in order; absent where the entity has no sessions. */
  readonly sessionId?: string;
  /** At least one. */
  readonly messages: readonly LockedMessage[];
}

/** What is to become of one message that the target did not complete. */
export interface Failure {
  readonly sequenceNumber: bigint;
  readonly action:
    | { readonly kind: 'abandon'; readonly delayMs?: number }
    | { readonly kind: 'deadLetter'; readonly reason?: string; readonly description?: string }
    | { readonly kind: 'defer' };
}

/** The result of one call. */
export type Reply =
  /** The target has done its work; messages without a failure are complete. */
  | { readonly kind: 'answered'; readonly failures: readonly Failure[] }
  /** The target failed, ran out of time, or its answer makes no sense: the delivery counts for every message. */
  | { readonly kind: 'failed'; readonly error: string }
  /** The target was not called: no delivery counts, and the consumer pauses. */
  | {
      readonly kind: 'unavailable';
      /** `throttled` is over soon; `missing` and `forbidden` need somebody to do something. */
      readonly why: 'throttled' | 'missing' | 'forbidden';
      readonly error: string;
    }
  /** The batch is too large for one call; nothing was called. */
  | { readonly kind: 'tooLarge'; readonly error: string };

/** Calls the targets of consumers. */
export interface Targets {
  /** Calls the target of a batch's consumer. Ends in time: after the consumer's `timeoutMs` it has failed. Never throws. */
  call(batch: Batch): Promise<Reply>;
}
