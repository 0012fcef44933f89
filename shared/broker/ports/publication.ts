import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { Message } from '../../domain/messages/message.ts';
import type { DeduplicationCondition } from './duplicates.ts';

/** One copy of a message in one log. */
export interface Copy {
  /** Its number, without the partition. */
  readonly sequence: bigint;
  /** The same object in every copy of an unchanged message. */
  readonly message: Message;
}

/** The messages of a publication for one log. */
export interface LogBatch {
  readonly to: Log;
  readonly copies: readonly Copy[];
  /** The limit for a message's own time to live, ms. */
  readonly timeToLiveMsMax?: number;
}

/** Messages on their way into several logs. */
export interface Publication {
  /** The log in which an unfinished publication is stored, for the sweep to complete. */
  readonly owner: Log;
  readonly batches: readonly LogBatch[];
  /** Epoch ms. */
  readonly enqueuedAt: number;
  /** The present place of the messages, from which the same transaction removes them. */
  readonly source?: MoveSource;
  /** Part of the write that decides about the publication. */
  readonly condition?: DeduplicationCondition | undefined;
}

/** Slots of blocks whose messages move to another log. */
export interface MoveSource {
  readonly log: Log;
  /** Each block as it was read; its slots must be unchanged when the messages move. */
  readonly taken: readonly { readonly block: Block; readonly slots: readonly number[] }[];
}

/** Stored messages that are to be forwarded. */
export interface StoredBatch {
  readonly copies: readonly Copy[];
  /** Epoch ms; of scheduled messages when they came due. */
  readonly enqueuedAt: number;
  readonly source: MoveSource;
}

/** Forwards a batch. Throws ConflictInProgress if another process did so meanwhile. */
export type Forward = (batch: StoredBatch) => Promise<void>;
