import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Message } from '../../domain/messages/message.ts';
import type { DeduplicationCondition } from './duplicates.ts';

/** One copy of a message in one log. */
export interface Copy {
  /** Its number, without the partition. */
  readonly sequence: bigint;
  /** The same object wherever the message goes unchanged. */
  readonly message: Message;
}

/** What one log gets of a publication. */
export interface Delivery {
  readonly to: Log;
  readonly copies: readonly Copy[];
  /** A longer time to live of a message's own is lowered to this, ms. */
  readonly timeToLiveMsMax?: number;
}

/** Messages on their way into several logs. */
export interface Publication {
  /** Where an unfinished one is noted, for the sweep to finish. */
  readonly owner: Log;
  readonly deliveries: readonly Delivery[];
  /** Epoch ms. */
  readonly enqueuedAt: number;
  /** Where the messages lie until now; they are removed there in the same transaction. */
  readonly source?: MoveSource;
  /** Part of the write that decides about the publication. */
  readonly condition?: DeduplicationCondition | undefined;
}

/** Slots of blocks whose messages are about to go elsewhere. */
export interface MoveSource {
  readonly log: Log;
  /** Each block as it was read: it must not have changed when the messages go. */
  readonly taken: readonly { readonly block: Block; readonly slots: readonly number[] }[];
}

/** Messages that lie somewhere and are to go elsewhere. */
export interface StoredBatch {
  readonly copies: readonly Copy[];
  /** Epoch ms; of scheduled messages when they came due. */
  readonly enqueuedAt: number;
  readonly source: MoveSource;
}

/** Sends a batch on its way; throws ConflictInProgress where somebody else did so meanwhile. */
export type Forward = (batch: StoredBatch) => Promise<void>;
