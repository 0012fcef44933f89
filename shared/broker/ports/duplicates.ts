import type { Log } from '../../domain/blocks/log.ts';

/** Asks which messages of one send the entity has accepted before. */
export interface DeduplicationRequest {
  /** The main log of the entity. An original may lie in any partition of it. */
  readonly log: Log;
  /** How long the entity remembers a message, ms. */
  readonly windowMs: number;
  readonly candidates: readonly Candidate[];
}

/** A message of the send. */
export interface Candidate {
  /** The key by which duplicates are detected; all keys are different. Absent = no detection. */
  readonly key: string | undefined;
  /** Epoch ms, from the sender. */
  readonly scheduledEnqueueAt: number | undefined;
  readonly sessionId: string | undefined;
}

/** Says which messages a send may store. Valid until its condition is refused. */
export interface Reservation {
  readonly request: DeduplicationRequest;
  /** For each candidate whether it is new, in order. */
  readonly checks: readonly DuplicateCheck[];
  /** Must be part of the write that stores the new messages. Absent = none of them has a key. */
  readonly condition: DeduplicationCondition | undefined;
  /** The attempts of one send share its name, and are counted from 0. */
  readonly attempt: { readonly send: string; readonly tries: number };
}

/** Whether a message is new or a duplicate. */
export type DuplicateCheck =
  | { readonly kind: 'new' }
  /** With the sequence number of its original, where that is known. */
  | { readonly kind: 'duplicate'; readonly number: bigint | undefined };

/**
 * The condition for storing new messages, together with what their write adds to detect later duplicates: the record of
 * a single message, or the decision that makes the records of a batch valid.
 */
export type DeduplicationCondition = {
  readonly entityId: string;
  /** No other attempt to send has this name. */
  readonly attempt: string;
  /** When the attempt began, epoch ms: records that ended by then are not valid. */
  readonly now: number;
  /** When the entity forgets the messages, epoch ms. */
  readonly until: number;
} & (
  | {
      readonly kind: 'message';
      readonly key: string;
      /** The index of the message among the candidates. */
      readonly index: number;
      /** The attempt whose record this one may replace: its batch was given up. */
      readonly replaces: string | undefined;
    }
  | {
      readonly kind: 'batch';
      /** The indexes of the duplicates among the candidates. */
      readonly duplicates: readonly number[];
    }
);

/**
 * The part of the message store that detects duplicates: reserve, store with the condition, confirm. If the
 * process ends at any point, no message counts as a duplicate of one that is not stored.
 */
export interface DuplicateStore {
  /**
   * Finds out which messages are new, and reserves the keys of a batch. `refused` = the reservation of the previous
   * attempt, whose condition was refused; the next attempt begins after a pause. `sibling` = another reservation of the
   * same transaction: of two transactions that wait for each other, the same one goes first in all entities. Throws
   * ServiceBusy when the attempts are used up.
   */
  reserve(
    request: DeduplicationRequest,
    refused?: Reservation,
    sibling?: Reservation,
  ): Promise<Reservation>;
  /**
   * Completes work that the senders of the originals may not have finished: notes due times and adds sessions to the
   * ready-session index. Call it before answering for duplicates. Throws ServiceTimeout.
   */
  confirm(reservation: Reservation): Promise<void>;
}
