import type { BrokerError } from '../domain/broker-error.ts';
import type { EntityPath } from '../domain/entities/entity-path.ts';
import type { AnswerLimit } from '../domain/messages/answer-limit.ts';
import type { LockedMessage, OutgoingMessage, StoredMessage } from '../domain/messages/message.ts';
import type { PayloadAccount } from '../domain/messages/payload-account.ts';
import type { Properties } from '../domain/messages/property-value.ts';

/**
 * What every transport speaks to: the operations on messages, in Service Bus words. Refusals are
 * thrown as BrokerError; the codes stand with each method.
 */
export interface Broker {
  /**
   * Stores the messages, all or none, and returns when they are durable.
   * Throws MessagingEntityNotFound, MessagingEntityDisabled, InvalidOperation, ArgumentError,
   * MessageSizeExceeded, QuotaExceeded, ServiceBusy.
   */
  send(path: EntityPath, messages: readonly OutgoingMessage[]): Promise<readonly SentMessage[]>;

  /**
   * Hands out up to `maxMessages`, and as many as the answer can carry, as soon as there is one; an
   * empty list when the wait is over. Throws MessagingEntityNotFound, MessagingEntityDisabled,
   * InvalidOperation, ServiceBusy; MessageSizeExceeded, with nothing claimed, where the answer cannot
   * carry even the first message.
   */
  receive(path: EntityPath, options: ReceiveOptions): Promise<readonly ReceivedMessage[]>;

  /**
   * Settles each message on its own; the outcomes stand in the order of the settlements. Only what
   * concerns the whole call (no such entity) is thrown.
   */
  settle(
    path: EntityPath,
    settlements: readonly Settlement[],
    sessionId?: string,
  ): Promise<readonly SettlementOutcome[]>;

  /** Starts each lock anew from now. Outcomes as for `settle`. */
  renewLocks(path: EntityPath, lockTokens: readonly string[]): Promise<readonly RenewalOutcome[]>;

  /**
   * Locks a session: the named one, or the one that has waited longest with messages to hand out,
   * waiting for one if asked to; undefined when the wait is over. Throws SessionCannotBeLocked,
   * InvalidOperation, MessagingEntityNotFound, MessagingEntityDisabled, ServiceBusy.
   */
  acceptSession(path: EntityPath, options: AcceptOptions): Promise<SessionLock | undefined>;

  /** Starts the lock of a session, and so those of its messages, anew. Throws SessionLockLost. */
  renewSession(path: EntityPath, session: SessionHandle): Promise<SessionLock>;

  /** Gives a session back at once. What was not settled counts as no delivery. Throws SessionLockLost. */
  releaseSession(path: EntityPath, session: SessionHandle): Promise<void>;

  /** The state of a session; undefined where none was set. Throws SessionLockLost. */
  sessionState(path: EntityPath, session: SessionHandle): Promise<Uint8Array | undefined>;

  /** Sets the state, or clears it. Throws SessionLockLost, ArgumentError where it is too large. */
  setSessionState(
    path: EntityPath,
    session: SessionHandle,
    state: Uint8Array | undefined,
  ): Promise<void>;

  /** Ids of sessions with active messages, or of those whose state was set after an instant. */
  listSessions(path: EntityPath, options: ListSessionsOptions): Promise<readonly string[]>;

  /**
   * Carries out operations, all or none: sends to any entities, and settlements of messages of one.
   * Returns what each came to, in order; the refusal says of which operation it is, where that is
   * known. Throws as `send`; MessageLockLost; TransactionAborted where others interfere.
   */
  transact(transaction: Transaction): Promise<readonly OperationOutcome[]>;

  /**
   * Removes scheduled messages before they come due, all or none. Throws MessageNotFound,
   * MessagingEntityNotFound, InvalidOperation.
   */
  cancelScheduled(path: EntityPath, sequenceNumbers: readonly bigint[]): Promise<void>;

  /**
   * Shows messages from a sequence number on, in order, without touching them: active, locked,
   * deferred and scheduled ones. May show fewer than asked for; the next call goes on. Throws
   * MessagingEntityNotFound, InvalidOperation.
   */
  peek(path: EntityPath, options: PeekOptions): Promise<readonly StoredMessage[]>;

  /**
   * Hands out deferred messages by number, all or none. Throws MessageNotFound and as `receive`;
   * MessageSizeExceeded, with nothing claimed, where the answer cannot carry all of them.
   */
  receiveDeferred(path: EntityPath, options: DeferredOptions): Promise<readonly ReceivedMessage[]>;

  /** What an operator does to messages that nobody need hold; each has its own outcome, in order. */
  operate(
    path: EntityPath,
    operation: OperatorAction,
    sequenceNumbers: readonly bigint[],
    sessionId?: string,
  ): Promise<readonly boolean[]>;

  /** Removes active messages enqueued before an instant that nobody holds; returns how many. */
  deleteMessages(path: EntityPath, options: DeleteOptions): Promise<number>;

  /**
   * Sends messages of a dead-letter queue to its main queue again, as new ones; returns how many.
   * Throws InvalidOperation for a path that is no dead-letter queue.
   */
  resubmit(path: EntityPath, maxMessages: number): Promise<number>;

  /** Empties a sub-queue in constant time. Throws MessagingEntityNotFound, ConflictInProgress. */
  purge(path: EntityPath): Promise<void>;
}

export interface DeleteOptions {
  readonly maxMessages: number;
  /** Epoch ms. */
  readonly before: number;
  readonly sessionId?: string;
}

/** A session and the lock on it, GUID text. */
export interface SessionHandle {
  readonly sessionId: string;
  readonly lockToken: string;
}

export interface SessionLock extends SessionHandle {
  /** Epoch ms. */
  readonly lockedUntil: number;
}

export interface AcceptOptions {
  /** Absent = the next one that can be had. */
  readonly sessionId?: string;
  /** How long to wait for a session that can be had, ms. Who names one does not wait. */
  readonly waitMs: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Asked before each attempt, as `ReceiveOptions.admit`: what it throws ends the wait, with nothing locked. */
  readonly admit?: () => Promise<void>;
  /** Told when an attempt found none and it waits for the next one. */
  readonly onWait?: () => void;
}

export interface ListSessionsOptions {
  readonly skip: number;
  readonly top: number;
  /** Epoch ms; absent = sessions with active messages. */
  readonly updatedAfter?: number;
}

export interface PeekOptions {
  /** Needed where messages lie by session; the lock is not. */
  readonly sessionId?: string;
  /** The lowest sequence number to show; absent = from the front. */
  readonly fromSequenceNumber?: bigint;
  readonly maxMessages: number;
  /** Counts messages before they are read. */
  readonly payloads?: PayloadAccount;
}

export interface DeferredOptions {
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly sequenceNumbers: readonly bigint[];
  readonly session?: SessionHandle;
  /** What the answer can carry; absent = any number of bytes. */
  readonly answer?: AnswerLimit;
  /** Counts messages before they are read. */
  readonly payloads?: PayloadAccount;
}

/**
 * `breakLock` ends a lock, whoever holds it; `reactivate` makes a deferred message active again;
 * `delete` and `deadLetter` take a message that nobody holds out of the queue.
 */
export type OperatorAction =
  | { readonly kind: 'breakLock' }
  | { readonly kind: 'reactivate' }
  | { readonly kind: 'delete' }
  | DeadLetterAction;

export interface SentMessage {
  readonly messageId: string;
  /** Absent where the message was not stored under a number the sender may know. */
  readonly sequenceNumber?: bigint;
}

export interface ReceiveOptions {
  /** Peek-lock locks and keeps; receive-and-delete removes as it hands out. */
  readonly mode: 'peekLock' | 'receiveAndDelete';
  readonly maxMessages: number;
  /** How long to wait for a first message, ms; 0 = answer at once. */
  readonly waitMs: number;
  /** Ends the wait with nothing. */
  readonly signal?: AbortSignal;
  /**
   * Asked before each look for messages: a right may end during a wait. What it throws ends the
   * receive, with nothing handed out.
   */
  readonly admit?: () => Promise<void>;
  /** Told when a look found nothing and it waits for the next one. */
  readonly onWait?: () => void;
  /** Needed where messages lie by session. */
  readonly session?: SessionHandle;
  /** What the answer can carry; absent = any number of bytes. */
  readonly answer?: AnswerLimit;
  /** Counts messages before they are claimed. */
  readonly payloads?: PayloadAccount;
  /** Resolves when messages that were found may be claimed; absent = at once. */
  readonly turn?: () => Promise<void>;
  /** Whether messages are still wanted, asked before each claim; absent = until `signal`. */
  readonly isWanted?: () => boolean;
}

/** Under a lock after a peek-lock; without one after receive-and-delete. */
export type ReceivedMessage = LockedMessage | StoredMessage;

export type SettlementAction =
  | { readonly kind: 'complete' }
  | AbandonAction
  | { readonly kind: 'defer'; readonly properties?: Properties }
  | DeadLetterAction;

/** Gives the message back. */
export interface AbandonAction {
  readonly kind: 'abandon';
  /** Not available again before so many ms are over. */
  readonly delayMs?: number;
  /** Set beside those that it has. */
  readonly properties?: Properties;
  /** The delivery does not count: nobody tried to handle the message. */
  readonly isUncounted?: true;
}

export interface DeadLetterAction {
  readonly kind: 'deadLetter';
  readonly reason?: string;
  readonly description?: string;
  readonly properties?: Properties;
}

export interface Settlement {
  readonly lockToken: string;
  readonly action: SettlementAction;
}

export interface SettlementOutcome {
  readonly lockToken: string;
  /** Absent = settled. */
  readonly refusal?: BrokerError;
}

export interface Transaction {
  readonly operations: readonly TransactionOperation[];
  readonly identity?: TransactionIdentity;
}

/** By which a transaction is carried out once, however often it is asked for. */
export interface TransactionIdentity {
  readonly id: string;
  /** Equal for equal transactions: under one id there is only one. */
  readonly fingerprint: string;
}

export type TransactionOperation =
  | {
      readonly kind: 'send';
      readonly path: EntityPath;
      readonly messages: readonly OutgoingMessage[];
    }
  | {
      readonly kind: 'settle';
      readonly path: EntityPath;
      readonly settlement: Settlement;
      /** Needed where messages lie by session. */
      readonly sessionId?: string;
    }
  | {
      readonly kind: 'renew';
      readonly path: EntityPath;
      readonly lockToken: string;
      readonly sessionId?: string;
    };

export type OperationOutcome =
  /** Nothing where a message was not stored under a number the sender may know. */
  | { readonly kind: 'sent'; readonly sequenceNumbers: readonly (bigint | undefined)[] }
  | { readonly kind: 'settled' }
  /** Epoch ms. */
  | { readonly kind: 'renewed'; readonly lockedUntil: number };

export interface RenewalOutcome {
  readonly lockToken: string;
  /** Epoch ms; present where the lock was renewed. */
  readonly lockedUntil?: number;
  readonly refusal?: BrokerError;
}
