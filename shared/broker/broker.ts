import type { BrokerError } from '../domain/broker-error.ts';
import type { EntityPath } from '../domain/entities/entity-path.ts';
import type { AnswerLimit } from '../domain/messages/answer-limit.ts';
import type { LockedMessage, OutgoingMessage, StoredMessage } from '../domain/messages/message.ts';
import type { PayloadAccount } from '../domain/messages/payload-account.ts';
import type {
  AcceptOptions,
  ListSessionsOptions,
  SessionHandle,
  SessionLock,
} from './session-types.ts';
import type { DeadLetterAction, Settlement } from './settlement-types.ts';
import type { OperationOutcome, Transaction } from './transaction-types.ts';

export type {
  AcceptOptions,
  ListSessionsOptions,
  SessionHandle,
  SessionLock,
} from './session-types.ts';
export type {
  AbandonAction,
  DeadLetterAction,
  Settlement,
  SettlementAction,
} from './settlement-types.ts';
export type {
  OperationOutcome,
  Transaction,
  TransactionIdentity,
  TransactionOperation,
} from './transaction-types.ts';

/**
 * The operations on messages, in Service Bus terms; every surface calls this interface. Refusals are thrown as
 * BrokerError with the codes that each method lists. Besides these, every method may throw MessagingEntityNotFound,
 * InvalidOperation for an entity that has no such operation, ArgumentError for a value out of its range, ServiceBusy
 * (the database or this process is busy, or other calls were faster at every try; nothing was done) and ServiceTimeout
 * (whether it was done is not known).
 */
export interface Broker {
  /**
   * Stores the messages, all or none, and returns when they are durable. Throws MessagingEntityDisabled,
   * MessageSizeExceeded, QuotaExceeded, NoMatchingSubscription.
   */
  send(
    path: EntityPath,
    messages: readonly OutgoingMessage[],
    options?: SendOptions,
  ): Promise<readonly SentMessage[]>;

  /**
   * Returns up to `maxMessages` messages, or as many as the answer can carry, as soon as there is one; an empty list
   * when the wait is over. Throws MessagingEntityDisabled, SessionLockLost; MessageSizeExceeded, with nothing claimed,
   * if the answer cannot carry even the first message.
   */
  receive(path: EntityPath, options: ReceiveOptions): Promise<readonly ReceivedMessage[]>;

  /**
   * Settles each message on its own; the outcomes have the order of the settlements. Throws only what concerns the
   * whole call.
   */
  settle(
    path: EntityPath,
    settlements: readonly Settlement[],
    sessionId?: string,
  ): Promise<readonly SettlementOutcome[]>;

  /** Renews each lock from now on. Outcomes as for `settle`. */
  renewLocks(path: EntityPath, lockTokens: readonly string[]): Promise<readonly RenewalOutcome[]>;

  /**
   * Locks a session: the named one, or the one whose messages have waited longest. Waits for one if asked to;
   * undefined when the wait is over. Throws SessionCannotBeLocked, MessagingEntityDisabled.
   */
  acceptSession(path: EntityPath, options: AcceptOptions): Promise<SessionLock | undefined>;

  /** Renews the lock of a session, and so the locks of its messages. Throws SessionLockLost. */
  renewSession(path: EntityPath, session: SessionHandle): Promise<SessionLock>;

  /** Ends the lock of a session. Messages that were not settled count no delivery. Throws SessionLockLost. */
  releaseSession(path: EntityPath, session: SessionHandle): Promise<void>;

  /** The state of a session; undefined if none was set. Throws SessionLockLost. */
  sessionState(path: EntityPath, session: SessionHandle): Promise<Uint8Array | undefined>;

  /** Sets the state, or clears it. Throws SessionLockLost. */
  setSessionState(
    path: EntityPath,
    session: SessionHandle,
    state: Uint8Array | undefined,
  ): Promise<void>;

  /** Ids of sessions with active messages, or of those whose state was set after an instant. */
  listSessions(path: EntityPath, options: ListSessionsOptions): Promise<readonly string[]>;

  /**
   * Carries out operations, all or none: sends to any entities, and settlements of messages of one entity. Returns
   * their outcomes in order. A refusal names its operation where that is known. Throws as `send`;
   * MessageLockLost, SessionLockLost; TransactionAborted if it conflicts with another operation.
   */
  transact(transaction: Transaction): Promise<readonly OperationOutcome[]>;

  /** Removes scheduled messages before they come due, all or none. Throws MessageNotFound. */
  cancelScheduled(path: EntityPath, sequenceNumbers: readonly bigint[]): Promise<void>;

  /**
   * Returns messages from a sequence number on, in order, without locking them: active, locked, deferred and
   * scheduled ones. May return fewer than asked for; the next call continues after the last one.
   */
  peek(path: EntityPath, options: PeekOptions): Promise<readonly StoredMessage[]>;

  /**
   * Receives deferred messages by sequence number, all or none. Throws MessageNotFound and as `receive`;
   * MessageSizeExceeded, with nothing claimed, if the answer cannot carry all of them.
   */
  receiveDeferred(path: EntityPath, options: DeferredOptions): Promise<readonly ReceivedMessage[]>;

  /**
   * Carries out an operator's action on messages, for which the caller needs no lock. Returns for each, in order,
   * whether it was done. If a message fails after an earlier one was changed, it throws ServiceTimeout, because a
   * refusal would say that nothing was done.
   */
  operate(
    path: EntityPath,
    operation: OperatorAction,
    sequenceNumbers: readonly bigint[],
    sessionId?: string,
  ): Promise<readonly boolean[]>;

  /** Removes active, unlocked messages that were enqueued before an instant; returns how many. */
  deleteMessages(path: EntityPath, options: DeleteOptions): Promise<number>;

  /**
   * Sends messages of a dead-letter queue to its main queue, or to another queue or topic, as new messages; returns how
   * many. If none can go, throws MessagingEntityNotFound, MessagingEntityDisabled, QuotaExceeded, MessageSizeExceeded,
   * NoMatchingSubscription, InvalidOperation; such messages stay where they are.
   */
  resubmit(path: EntityPath, options: ResubmitOptions): Promise<number>;

  /** Empties a sub-queue in constant time. Throws MessagingEntityNotFound, ConflictInProgress. */
  purge(path: EntityPath): Promise<void>;
}

/** Which dead letters to resubmit: the oldest, or those of the numbers. */
export interface ResubmitOptions {
  /** The queue or topic to send them to; absent = their main queue. */
  readonly to?: EntityPath;
  readonly maxMessages: number;
  readonly sequenceNumbers?: readonly bigint[];
}

/** Which messages to delete. */
export interface DeleteOptions {
  readonly maxMessages: number;
  /** Epoch ms. */
  readonly before: number;
  readonly sessionId?: string | undefined;
}

/** Options of peeking. */
export interface PeekOptions {
  /** Shows this session only; no lock is needed. Absent = all of them. */
  readonly sessionId?: string | undefined;
  /** The lowest sequence number to return; absent = from the front. */
  readonly fromSequenceNumber?: bigint | undefined;
  readonly maxMessages: number;
  /** Counts messages before they are read. */
  readonly payloads?: PayloadAccount | undefined;
}

/** Which deferred messages to receive, and how. */
export interface DeferredOptions {
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly sequenceNumbers: readonly bigint[];
  readonly session?: SessionHandle | undefined;
  /** What the answer can carry; absent = any number of bytes. */
  readonly answer?: AnswerLimit | undefined;
  /** Counts messages before they are read. */
  readonly payloads?: PayloadAccount | undefined;
}

/**
 * `breakLock` ends a lock, whoever holds it; `reactivate` makes a deferred message active again; `delete` and
 * `deadLetter` remove an unlocked message from the queue.
 */
export type OperatorAction =
  | { readonly kind: 'breakLock' }
  | { readonly kind: 'reactivate' }
  | { readonly kind: 'delete' }
  | DeadLetterAction;

/** Options of sending. */
export interface SendOptions {
  /**
   * Sends with the same object are stored in the order of the calls, though most need not wait until the one before
   * them is stored. Absent = in any order.
   */
  readonly orderedBy?: object | undefined;
}

/** The result of sending one message. */
export interface SentMessage {
  readonly messageId: string;
  /** Absent if the message was not stored under a number that the sender may see. */
  readonly sequenceNumber?: bigint;
}

/** Options of receiving. */
export interface ReceiveOptions {
  /** Peek-lock locks messages and keeps them; receive-and-delete removes them. */
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly maxMessages: number;
  /** How long to wait for a first message, ms; 0 = answer at once. */
  readonly waitMs: number;
  /** Ends the wait with nothing. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called before each look for messages, since a right may end during a wait. An error ends the receive, with
   * nothing claimed.
   */
  readonly beforeAttempt?: (() => Promise<void>) | undefined;
  /** Called when a look found no messages and the wait goes on. */
  readonly onWait?: (() => void) | undefined;
  /** Required if the entity requires sessions. */
  readonly session?: SessionHandle | undefined;
  /** What the answer can carry; absent = any number of bytes. */
  readonly answer?: AnswerLimit | undefined;
  /** Counts messages before they are claimed. */
  readonly payloads?: PayloadAccount | undefined;
  /** Resolves when messages that were found may be claimed; absent = at once. */
  readonly waitForTurn?: (() => Promise<void>) | undefined;
  /** Whether messages are still wanted; called before each claim. Absent = until `signal` is aborted. */
  readonly isWanted?: (() => boolean) | undefined;
}

/** With a lock after peek-lock; without one after receive-and-delete. */
export type ReceivedMessage = LockedMessage | StoredMessage;

/** The result of one settlement. */
export interface SettlementOutcome {
  readonly lockToken: string;
  /** Absent = settled. */
  readonly refusal?: BrokerError;
}

/** The result of one renewal. */
export interface RenewalOutcome {
  readonly lockToken: string;
  /** Epoch ms; present if the lock was renewed. */
  readonly lockedUntil?: number;
  readonly refusal?: BrokerError;
}
