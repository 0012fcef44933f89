import type { LockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { BrokerError } from '../../domain/broker-error.ts';
import type { Message } from '../../domain/messages/message.ts';
import type { OperationOutcome, SettlementAction, TransactionIdentity } from '../broker.ts';
import type { Delivery } from './deliveries.ts';
import type { DeduplicationCondition } from './duplicates.ts';

/** The part of the message store that carries out transactions. */
export interface TransactionStore {
  /**
   * Carries out a transaction: all of it or nothing. Throws MessageLockLost, TransactionAborted,
   * InvalidOperation, DeduplicationRefused.
   */
  transact(transaction: StoredTransaction): Promise<readonly OperationOutcome[]>;
  /** What a transaction came to that was carried out before; throws what it was refused for. */
  recall(identity: TransactionIdentity): Promise<readonly OperationOutcome[] | undefined>;
  /**
   * The truth about a transaction that has just been refused: another attempt of it may have been
   * carried out. A lost lock is kept as its answer, so that none that is still under way can be.
   */
  conclude(
    identity: TransactionIdentity,
    refusal: BrokerError,
  ): Promise<readonly OperationOutcome[] | undefined>;
}

/** A settlement in a transaction. */
export interface TransactedSettlement {
  /** Its place among the operations. */
  readonly place: number;
  readonly token: LockToken;
  readonly action: SettlementAction | { readonly kind: 'renew' };
}

/** The settlements of a transaction: of messages of one log, each named once. */
export interface TransactedSettlements {
  readonly log: Log;
  readonly policy: LogPolicy;
  readonly lockMs: number;
  readonly settlements: readonly TransactedSettlement[];
}

/** What a transaction sends. */
export interface TransactedSends {
  /** To the ends of logs, or among their scheduled messages. */
  readonly appended: readonly { readonly log: Log; readonly messages: readonly Message[] }[];
  /** Under numbers that are taken already. */
  readonly deliveries: readonly Delivery[];
}

/** A transaction on its way into the store. */
export interface StoredTransaction {
  /** Epoch ms. */
  readonly now: number;
  readonly settling: TransactedSettlements | undefined;
  /** Asked for once all locks have been seen to be live, since numbers are then taken. */
  readonly sends: () => Promise<TransactedSends>;
  /** Parts of the write, one for each entity that detects duplicates among what it gets. */
  readonly conditions: readonly DeduplicationCondition[];
  readonly identity: TransactionIdentity | undefined;
  /** What the operations come to. */
  readonly outcomes: (facts: TransactionFacts) => readonly OperationOutcome[];
}

/** What is known once a transaction is written. */
export interface TransactionFacts {
  /** Of what was appended, in that order, without the partition. */
  readonly numbers: readonly (readonly bigint[])[];
  /** The end of the locks that were renewed, epoch ms. */
  readonly lockedUntil: number;
}
