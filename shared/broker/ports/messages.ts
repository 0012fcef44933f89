import type { BlockRules } from '../../domain/blocks/block.ts';
import type { LockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { BrokerError } from '../../domain/broker-error.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { AnswerLimit } from '../../domain/messages/answer-limit.ts';
import type { LockedMessage, Message, StoredMessage } from '../../domain/messages/message.ts';
import type { PayloadAccount } from '../../domain/messages/payload-account.ts';
import type { DeadLetterAction, SettlementAction } from '../broker.ts';
import type { Forward, Publication } from './deliveries.ts';
import type { DeduplicationCondition, DuplicateStore } from './duplicates.ts';
import type { TransactionStore } from './transactions.ts';

/** Under a lock after a peek-lock; without one after receive-and-delete. */
export type ReceivedMessage = LockedMessage | StoredMessage;

export interface ClaimRequest extends LogPolicy {
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly maxMessages: number;
  /** Bodies of more than this are not handed out in one answer, except a single one. */
  readonly maxBytes: number;
  readonly lockMs: number;
  /** What the answer can carry; absent = any number of bytes. */
  readonly answer?: AnswerLimit;
  /** Counts messages before they are claimed and read. */
  readonly payloads?: PayloadAccount;
  /** Resolves when what was found may be claimed. */
  readonly turn?: () => Promise<void>;
  /** Whether anybody still takes what is claimed; absent = somebody does. */
  readonly isWanted?: () => boolean;
  /** What this claim and others at the same time may take together; absent = it is alone. */
  readonly allowance?: Allowance;
}

/** What claims of several logs may take together, so that all of them are not more than one. */
export interface Allowance {
  /**
   * Asks for some messages of a block of so many bytes, which take `answerBytes` in the answer; returns
   * how many of them may be taken.
   */
  take(messages: number, bytes: number, answerBytes: number): number;
  /** What was allowed and not got after all: messages, and the bytes as they were asked for. */
  giveBack(messages: number, bytes: number, answerBytes: number): void;
}

export interface RoomRequest {
  readonly bytes: number;
  /** The size that the entity may have, bytes. */
  readonly limit: number;
}

export interface PeekRequest {
  /** The lowest number shown, without the partition. */
  readonly from: bigint;
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly rules: BlockRules;
  /** Counts messages before they are read. */
  readonly payloads?: PayloadAccount;
}

export interface Peeked {
  readonly messages: readonly StoredMessage[];
  /** Whether the log has more that the answer had no room for. */
  readonly isCut: boolean;
}

export interface RemoveBeforeRequest {
  readonly maxMessages: number;
  /** Epoch ms. */
  readonly before: number;
}

export interface DeferredRequest
  extends LogPolicy,
    Pick<ClaimRequest, 'mode' | 'lockMs' | 'answer' | 'payloads'> {
  /** Numbers without the partition; all different. */
  readonly sequences: readonly bigint[];
}

/** A settlement whose token has been read. */
export interface TokenSettlement {
  readonly token: LockToken;
  readonly action: SettlementAction;
}

/**
 * Keeps messages. Each method is carried out by conditional writes that decide; what is passed in
 * may be a few seconds old. All throw ServiceBusy and ServiceTimeout.
 */
export interface MessageStore extends TransactionStore, DuplicateStore {
  /** Whether an entity can take more, and how large it is now at most, in bytes. */
  hasRoom(
    entity: Entity,
    request: RoomRequest,
  ): Promise<{ readonly isRoom: boolean; readonly size: number }>;
  /**
   * Stores messages at the end of a log, or among its scheduled ones where they are not due by `now`
   * (epoch ms), all or none, and returns their sequence numbers without the partition, which are
   * gapless. `condition` is part of the write. Throws MessagingEntityNotFound; NothingStored where that is
   * certain; DeduplicationRefused.
   */
  append(
    log: Log,
    messages: readonly Message[],
    now: number,
    condition?: DeduplicationCondition,
  ): Promise<readonly bigint[]>;
  /**
   * Takes numbers from a partition's counter; returns the first. Throws MessagingEntityNotFound,
   * NothingStored.
   */
  takeNumbers(log: Log, messages: readonly Message[], count: number): Promise<bigint>;
  /**
   * Writes messages into several logs: into all of them, even if it is cut off half-way. Throws
   * NothingStored where that is certain; DeduplicationRefused; ConflictInProgress where their source has
   * changed.
   */
  publish(publication: Publication): Promise<void>;
  /** Makes scheduled messages of a queue that have come due receivable. True = there were some. */
  activateDue(log: Log): Promise<boolean>;
  /** Sends on the scheduled messages of a topic that have come due. True = there were some. */
  forwardDue(log: Log, forward: Forward): Promise<boolean>;
  /** Sends on what can be had from a log that forwards. True = there is more than one call sends on. */
  forwardAll(log: Log, policy: LogPolicy, forward: Forward): Promise<boolean>;
  /** Has the sweep send on what waits in an entity that forwards, in a minute; given its main log. */
  leaveToSweep(log: Log): void;
  /**
   * Hands out what can be had now, in order, as much as the answer can carry. Throws
   * MessageSizeExceeded where it cannot carry even the first message; nothing is claimed then.
   */
  claim(log: Log, request: ClaimRequest): Promise<readonly ReceivedMessage[]>;
  /**
   * When something in a log in which nothing can be had may be had without anybody's doing, as far as
   * this process knows: a lock runs out, or a scheduled message comes due. Epoch ms.
   */
  changesAt(log: Log, policy: LogPolicy): number;
  /** Settles each message whose lock is live; for each a refusal, or nothing once settled. In order. */
  settle(
    log: Log,
    settlements: readonly TokenSettlement[],
    policy: LogPolicy,
  ): Promise<readonly (BrokerError | undefined)[]>;
  /** Starts locks anew; for each the new end (epoch ms), or a refusal. In order. */
  renew(
    log: Log,
    tokens: readonly LockToken[],
    lockMs: number,
    rules: BlockRules,
  ): Promise<readonly (number | BrokerError)[]>;
  /**
   * Puts what ended with a lock, unnoticed, into the dead-letter queue: messages whose last delivery
   * lapsed, and those that expired under a lock. True = there was something.
   */
  deadLetterLapsed(log: Log, policy: LogPolicy): Promise<boolean>;
  /** Shows messages in order of their numbers without touching them. */
  peek(log: Log, request: PeekRequest): Promise<Peeked>;
  /** Hands out deferred messages, all or none. Throws MessageNotFound, MessageSizeExceeded. */
  receiveDeferred(log: Log, request: DeferredRequest): Promise<readonly ReceivedMessage[]>;
  /** Removes messages that are not due yet, all or none. Throws MessageNotFound. */
  cancelScheduled(log: Log, sequences: readonly bigint[]): Promise<void>;
  /** Ends the lock on a message, whoever holds it. False = there is no such lock. */
  breakLock(log: Log, sequence: bigint, policy: LogPolicy): Promise<boolean>;
  /** Makes a deferred message active again, at its old place. False = there is none to be had. */
  reactivate(log: Log, sequence: bigint, policy: LogPolicy): Promise<boolean>;
  /** Removes a message that nobody holds, in whatever state. False = there is none to be had. */
  remove(log: Log, sequence: bigint, policy: LogPolicy): Promise<boolean>;
  /** Dead-letters a message that nobody holds. False = there is none to be had. */
  deadLetter(
    log: Log,
    sequence: bigint,
    action: DeadLetterAction,
    policy: LogPolicy,
  ): Promise<boolean>;
  /** Removes up to `maxMessages` active messages enqueued before an instant that nobody holds. */
  removeBefore(log: Log, request: RemoveBeforeRequest, policy: LogPolicy): Promise<number>;
  /**
   * Sends up to `maxMessages` dead letters that nobody holds to the main queue again, each in one
   * transaction, so that it never is in both or neither. Returns how many.
   */
  resubmit(log: Log, to: Log, request: ResubmitRequest, policy: LogPolicy): Promise<number>;
}

export interface ResubmitRequest {
  readonly maxMessages: number;
  /** What the main queue lowers the messages' own to; absent = nothing. */
  readonly timeToLiveMsMax: number | undefined;
}
