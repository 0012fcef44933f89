import type { LockToken } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { BrokerError } from '../../domain/broker-error.ts';
import type { Message } from '../../domain/messages/message.ts';
import type { OperationOutcome, SettlementAction, TransactionIdentity } from '../broker.ts';
import type { DeduplicationCondition } from './duplicates.ts';
import type { LogBatch } from './publication.ts';

/** The part of the message store that carries out transactions. */
export interface TransactionStore {
  /**
   * Carries out a transaction: all of it or nothing. Throws MessageLockLost, SessionLockLost, TransactionAborted,
   * InvalidOperation, ArgumentError, MessagingEntityNotFound, DeduplicationRefused, and what `sends` throws.
   */
  transact(transaction: StoredTransaction): Promise<readonly OperationOutcome[]>;
  /** The outcomes of a transaction that was carried out before, or the attempt to make; throws its stored refusal. */
  lookUpTransaction(
    identity: TransactionIdentity,
  ): Promise<readonly OperationOutcome[] | IdentifiedAttempt>;
  /**
   * Finds the final answer after a refusal, since another attempt of the same transaction may have been carried out;
   * undefined = the refusal. After a refusal that is not retryable, no attempt that began before can be carried out any
   * more. MessageLockLost and SessionLockLost stay the answer. Throws TransactionAborted if another attempt was refused
   * meanwhile, ServiceTimeout.
   */
  resolveTransaction(
    attempt: IdentifiedAttempt,
    refusal: BrokerError,
  ): Promise<readonly OperationOutcome[] | undefined>;
  /**
   * Stores the due time of scheduled messages of a log, epoch ms, so that they are activated. Up to three write units.
   * Throws MessagingEntityNotFound, ServiceTimeout.
   */
  noteDue(log: Log, dueAt: number): Promise<void>;
}

/** An attempt of a transaction with an id. */
export interface IdentifiedAttempt {
  readonly identity: TransactionIdentity;
  /**
   * The mark of the last refusal before it, if any. The attempt is carried out only if no other one was refused since.
   */
  readonly refusal: Uint8Array | undefined;
}

/** A settlement in a transaction. */
export interface TransactedSettlement {
  /** Its index among the operations. */
  readonly operationIndex: number;
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

/** The messages that a transaction sends. */
export interface TransactedSends {
  /** To the ends of logs, or among their scheduled messages. */
  readonly appended: readonly { readonly log: Log; readonly messages: readonly Message[] }[];
  /** Under numbers that are taken already. */
  readonly batches: readonly LogBatch[];
}

/** A transaction to store. */
export interface StoredTransaction {
  /** Epoch ms. */
  readonly now: number;
  readonly settling: TransactedSettlements | undefined;
  /** Called once all locks are known to be live, because it takes sequence numbers. */
  readonly sends: () => Promise<TransactedSends>;
  /** Parts of the write, one for each destination that detects duplicates. */
  readonly conditions: readonly DeduplicationCondition[];
  readonly identified: IdentifiedAttempt | undefined;
  /** Makes the outcomes of the operations. */
  readonly outcomes: (facts: TransactionFacts) => readonly OperationOutcome[];
}

/** The facts that are known once a transaction is written. */
export interface TransactionFacts {
  /** Of what was appended, in that order, without the partition. */
  readonly numbers: readonly (readonly bigint[])[];
  /** The end of the locks that were renewed, epoch ms. */
  readonly lockedUntil: number;
}
