import type { BlockRules } from '../../domain/blocks/block.ts';
import type { LockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { BrokerError } from '../../domain/broker-error.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { Message, StoredMessage } from '../../domain/messages/message.ts';
import type { PayloadAccount } from '../../domain/messages/payload-account.ts';
import type { Result } from '../../domain/result-of.ts';
import type {
  DeadLetterAction,
  ReceivedMessage,
  ReceiveOptions,
  SettlementAction,
} from '../broker.ts';
import type { DeduplicationCondition, DuplicateStore } from './duplicates.ts';
import type { Forward, Publication, StoredBatch } from './publication.ts';
import type { TransactionStore } from './transactions.ts';

/** A claim of messages of one log. */
export interface ClaimRequest
  extends LogPolicy,
    Pick<
      ReceiveOptions,
      'mode' | 'maxMessages' | 'answer' | 'payloads' | 'waitForTurn' | 'isWanted'
    > {
  /** The decoded size of the messages in one answer, bytes; a single larger message is returned too. */
  readonly maxBytes: number;
  readonly lockMs: number;
  /** What this claim and concurrent claims of other logs may take together; absent = it is alone. */
  readonly allowance?: Allowance | undefined;
  /**
   * The receivers of the messages, if there are several. Each message then has a lock tag of its own: nobody can make
   * the token of another's message from its own.
   */
  readonly group?: ReceiverGroup | undefined;
}

/** Several receivers that share a claim. */
export interface ReceiverGroup {
  /**
   * How many messages of a block still have a receiver, just before they are taken. `index` = of the blocks of which
   * the allowance allowed some messages, in that order.
   */
  wanted(index: number): number;
  /**
   * Hears what was claimed of a block, or why nothing was, as soon as it is known: other blocks may take long. A block
   * of which it hears nothing was left. `index` as for `wanted`.
   */
  onBlock(index: number, outcome: Result<readonly ReceivedMessage[]>): void;
}

/** A limit that concurrent claims of several logs share, so that together they take no more than one claim may. */
export interface Allowance {
  /**
   * Takes messages of one block from the allowance; returns how many are allowed. `bytes` = the decoded size of
   * the block's messages, `answerBytes` = the size of those in the answer.
   */
  take(messages: number, bytes: number, answerBytes: number): number;
  /** Returns what was allowed and not claimed: messages, and bytes as passed to `take`. */
  giveBack(messages: number, bytes: number, answerBytes: number): void;
}

/** Bytes to store in an entity, and its quota. */
export interface QuotaRequest {
  readonly bytes: number;
  /** The maximum size of the entity, bytes. */
  readonly limit: number;
}

/** A page of messages to peek. */
export interface PeekRequest {
  /** The lowest number shown, without the partition. */
  readonly from: bigint;
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly rules: BlockRules;
  /** Counts messages before they are read. */
  readonly payloads?: PayloadAccount | undefined;
}

/** A page of peeked messages. */
export interface Peeked {
  readonly messages: readonly StoredMessage[];
  /** Whether the log may have more, because the page is full. */
  readonly isCut: boolean;
}

/** Which messages to remove. */
export interface RemoveBeforeRequest {
  readonly maxMessages: number;
  /** Epoch ms. */
  readonly before: number;
}

/** Which deferred messages to receive, and how. */
export interface DeferredRequest
  extends LogPolicy,
    Pick<ClaimRequest, 'mode' | 'lockMs' | 'answer' | 'payloads'> {
  /** Numbers without the partition; all different. */
  readonly sequences: readonly bigint[];
}

/**
 * Hears the outcome of one of several items, by its index, as soon as it is known: those of the others may take long.
 * An item of which it hears nothing has none, because the call has failed.
 */
export type OnOutcome<Outcome> = (index: number, outcome: Outcome) => void;

/** A settlement whose token has been read. */
export interface TokenSettlement {
  readonly token: LockToken;
  readonly action: SettlementAction;
}

/**
 * Keeps messages. Conditional writes decide in each method, since the arguments may be a few seconds old. All methods
 * that return a promise may throw ServiceBusy, ServiceTimeout, and MessagingEntityNotFound once the entity is deleted.
 */
export interface MessageStore extends TransactionStore, DuplicateStore {
  /** Whether more bytes fit into an entity's quota, and an upper bound of its present size, bytes. */
  fitsQuota(
    entity: Entity,
    request: QuotaRequest,
  ): Promise<{ readonly fits: boolean; readonly size: number }>;
  /**
   * Stores messages at the end of a log, or among its scheduled ones if they are not due by `now` (epoch ms), all or
   * none. Returns their gapless sequence numbers without the partition. `condition` is part of the write. Throws
   * ArgumentError for more blocks than one write takes; NothingStored if that is certain; DeduplicationRefused.
   */
  append(
    log: Log,
    messages: readonly Message[],
    now: number,
    condition?: DeduplicationCondition,
  ): Promise<readonly bigint[]>;
  /**
   * Takes `count` numbers from a partition's counter, and counts the bytes of `messages` towards the size of the
   * entity; returns the first number. `count` exceeds the number of messages if rules make several copies of one.
   * Throws NothingStored instead of ServiceBusy and ServiceTimeout.
   */
  takeNumbers(log: Log, messages: readonly Message[], count: number): Promise<bigint>;
  /**
   * Stores messages in several logs: in all of them, even if the process ends half way. Throws NothingStored if that is
   * certain; MessageSizeExceeded for too many blocks; DeduplicationRefused; ConflictInProgress if their source has
   * changed.
   */
  publish(publication: Publication): Promise<void>;
  /** Activates due scheduled messages of a queue. True = there were some. */
  activateDue(log: Log): Promise<boolean>;
  /** Forwards due scheduled messages of a topic or of an entity with ForwardTo. True = there were some. */
  forwardDue(log: Log, forward: Forward): Promise<boolean>;
  /** Forwards the available messages of a log. True = there are more than one call forwards. */
  forwardAll(log: Log, policy: LogPolicy, forward: Forward): Promise<boolean>;
  /** Adds due work for a minute from now: the sweep then forwards the messages of the entity with this main log. */
  leaveToSweep(log: Log): void;
  /**
   * Claims the available messages in order, as many as the answer can carry. Throws SessionLockLost in a session;
   * MessageSizeExceeded, with nothing claimed, if the answer cannot carry even the first message.
   */
  claim(log: Log, request: ClaimRequest): Promise<readonly ReceivedMessage[]>;
  /**
   * When a message of a log without available ones may become available by time alone, as far as this process knows: a
   * lock expires, or a scheduled message comes due. Epoch ms; Infinity = none is known.
   */
  changesAt(log: Log, policy: LogPolicy): number;
  /**
   * When the next scheduled message of a queue or topic comes due in a main log, as far as this process knows.
   * Epoch ms; Infinity = none is known.
   */
  nextDueAt(log: Log): number;
  /**
   * When the last look of this process began, monotonic ms, if it saw no message in the log, no locked or expired one
   * either. Undefined = it saw one, one has arrived since, or this process does not know. Deferred and scheduled
   * messages do not count.
   */
  emptyAt(log: Log): number | undefined;
  /** Settles each message whose lock is live. `onOutcome` hears of each: a refusal, or undefined if it is settled. */
  settle(
    log: Log,
    settlements: readonly TokenSettlement[],
    policy: LogPolicy,
    onOutcome: OnOutcome<BrokerError | undefined>,
  ): Promise<void>;
  /** Renews locks. `onOutcome` hears of each: the new end (epoch ms), or a refusal. */
  renew(
    log: Log,
    tokens: readonly LockToken[],
    lockMs: number,
    rules: BlockRules,
    onOutcome: OnOutcome<number | BrokerError>,
  ): Promise<void>;
  /**
   * Dead-letters messages whose last delivery ended with an expired lock, and those that expired under a lock, if no
   * receive has found them. True = there were some.
   */
  deadLetterLapsed(log: Log, policy: LogPolicy): Promise<boolean>;
  /** Returns messages in order of their numbers without locking them. */
  peek(log: Log, request: PeekRequest): Promise<Peeked>;
  /** Receives deferred messages, all or none. Throws MessageNotFound, MessageSizeExceeded, SessionLockLost. */
  receiveDeferred(log: Log, request: DeferredRequest): Promise<readonly ReceivedMessage[]>;
  /** Removes scheduled messages, all or none. Throws MessageNotFound. */
  cancelScheduled(log: Log, sequences: readonly bigint[]): Promise<void>;
  /** Ends the lock on a message, whoever holds it. False = there is no such lock. */
  breakLock(log: Log, sequence: bigint, policy: LogPolicy): Promise<boolean>;
  /** Makes a deferred message active again, at its old place. False = there is no such unlocked message. */
  reactivate(log: Log, sequence: bigint, policy: LogPolicy): Promise<boolean>;
  /** Removes an unlocked message in any state. False = there is none. */
  remove(log: Log, sequence: bigint, policy: LogPolicy): Promise<boolean>;
  /** Dead-letters an unlocked message. False = there is none. */
  deadLetter(
    log: Log,
    sequence: bigint,
    action: DeadLetterAction,
    policy: LogPolicy,
  ): Promise<boolean>;
  /** Removes up to `maxMessages` active, unlocked messages enqueued before an instant; returns how many. */
  removeBefore(log: Log, request: RemoveBeforeRequest, policy: LogPolicy): Promise<number>;
  /**
   * Sends up to `maxMessages` unlocked dead letters to the main queue again. Each moves in one transaction, so it is
   * never in both queues or in neither. Returns how many.
   */
  resubmit(log: Log, to: Log, request: ResubmitRequest, policy: LogPolicy): Promise<number>;
  /**
   * Moves up to `maxMessages` unlocked dead letters by `forward`, in batches of up to `batchMax`. Throws what
   * `forward` throws, except ConflictInProgress: then the batch stays where it is.
   */
  forwardSome(
    log: Log,
    request: MoveRequest & { readonly batchMax: number },
    policy: LogPolicy,
    forward: ForwardSome,
  ): Promise<void>;
}

/** Forwards messages of a batch, each in one transaction; returns the numbers of those that it has moved. */
export type ForwardSome = (batch: StoredBatch) => Promise<readonly bigint[]>;

/** Which dead letters to move. */
export interface MoveRequest {
  readonly maxMessages: number;
  /** The only messages to move, by their numbers within the log; absent = the oldest. */
  readonly sequences?: ReadonlySet<bigint>;
}

/** How to resubmit dead letters. */
export interface ResubmitRequest extends MoveRequest {
  /** The main queue's limit for the messages' own time to live, ms; absent = none. */
  readonly timeToLiveMsMax: number | undefined;
}
