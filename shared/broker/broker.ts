import type { BrokerError } from '../domain/broker-error.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import type { LockedMessage, OutgoingMessage, StoredMessage } from '../domain/message.ts';
import type { Properties } from '../domain/property-value.ts';

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
   * Hands out up to `maxMessages`, as soon as there is one; an empty list when the wait is over.
   * Throws MessagingEntityNotFound, MessagingEntityDisabled, InvalidOperation, ServiceBusy.
   */
  receive(path: EntityPath, options: ReceiveOptions): Promise<readonly ReceivedMessage[]>;

  /**
   * Settles each message on its own; the outcomes stand in the order of the settlements. Only what
   * concerns the whole call (no such entity) is thrown.
   */
  settle(
    path: EntityPath,
    settlements: readonly Settlement[],
  ): Promise<readonly SettlementOutcome[]>;

  /** Starts each lock anew from now. Outcomes as for `settle`. */
  renewLocks(path: EntityPath, lockTokens: readonly string[]): Promise<readonly RenewalOutcome[]>;
}

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
}

/** Under a lock after a peek-lock; without one after receive-and-delete. */
export type ReceivedMessage = LockedMessage | StoredMessage;

export type SettlementAction =
  | { readonly kind: 'complete' }
  /** `delayMs`: not available again before then. */
  | { readonly kind: 'abandon'; readonly delayMs?: number; readonly properties?: Properties }
  | { readonly kind: 'defer'; readonly properties?: Properties }
  | {
      readonly kind: 'deadLetter';
      readonly reason?: string;
      readonly description?: string;
      readonly properties?: Properties;
    };

export interface Settlement {
  readonly lockToken: string;
  readonly action: SettlementAction;
}

export interface SettlementOutcome {
  readonly lockToken: string;
  /** Absent = settled. */
  readonly refusal?: BrokerError;
}

export interface RenewalOutcome {
  readonly lockToken: string;
  /** Epoch ms; present where the lock was renewed. */
  readonly lockedUntil?: number;
  readonly refusal?: BrokerError;
}
