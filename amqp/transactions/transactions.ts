import type { TransactionOperation } from '../../shared/broker/broker.ts';
import { BrokerError, invalidOperation } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { AccessRight } from '../../shared/domain/entities/descriptions.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import { requireTransactionSize } from '../../shared/domain/messages/transaction-rules.ts';
import type { Timer } from '../../shared/domain/scheduler.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { NamespaceBinding } from '../service/namespace-binding.ts';
import { AmqpError } from '../wire/wire-error.ts';
import { heldBytes, isSameSettlement, requireFits } from './operations.ts';

const {
  transactionMs: OPEN_MS_MAX,
  transactions: OPEN_MAX,
  transactionOperations: OPERATIONS_MAX,
  transactionBytes: BYTES_MAX,
} = BUDGETS.connection;
const ID_BYTES = 16;

interface OpenTransaction {
  /** Monotonic ms, so that moving the clock of the namespace ends no transaction. */
  readonly startedAt: number;
  readonly operations: TransactionOperation[];
  /** Enlistments that have not ended yet. */
  readonly pending: Set<Promise<void>>;
  /** Whether an operation was refused, so that the transaction can only be rolled back. */
  isRefused: boolean;
  /** Whether it accepts no more operations. */
  isClosed: boolean;
  /** Called once the transaction is committed. */
  readonly onCommit: (() => void)[];
  /** The rights that the operations require, each once. */
  readonly rights: Map<string, NeededRight>;
  /** The operations that settle messages, by their lock tokens. */
  readonly settled: Map<string, TransactionOperation>;
  messages: number;
  bytes: number;
}

/** A right that an operation requires, in the form that `Authorization.confirm` checks. */
export interface NeededRight {
  readonly pathname: string;
  readonly path: EntityPath;
  readonly right: AccessRight;
}

/**
 * A delivery or request of a transaction, from its arrival until its operations are added. The caller always
 * finishes with `end` or `refuse`; further calls of the two have no effect.
 */
export interface Enlistment {
  /** The id of the transaction. */
  readonly transaction: Uint8Array;
  /**
   * Adds an operation; `onCommit` is called once the transaction is committed. Throws AmqpError
   * `amqp:transaction:unknown-id` if the transaction is not open or its discharge came first;
   * InvalidOperation for too many operations or messages, and for a message that the transaction settles
   * already; QuotaExceeded for too many bytes; and, for properties that no entity accepts, what a send
   * throws outside of transactions.
   */
  add(operation: TransactionOperation, need: NeededRight, onCommit?: () => void): void;
  /** Ends the enlistment: all operations are added. */
  end(): void;
  /** Ends the enlistment and makes the discharge fail: it was refused, or its outcome will stay unknown. */
  refuse(): void;
}

/**
 * The open transactions of one connection. Operations are kept in memory, which counts for the connection,
 * until the discharge: then the broker executes all of them or none (semantics U15). A rollback only drops them. No
 * timer ends a transaction: one past its time (semantics #131) is dropped at the next declare or when its id is used.
 *
 * A client may send operations and the discharge without waiting for outcomes (Qpid Proton does). Operations
 * that arrive before the discharge belong to the transaction, so the discharge waits until they are added. If
 * an operation is refused, the discharge rolls the transaction back: the client may have requested the commit
 * before it received the refusal.
 */
export class Transactions {
  readonly #binding: Pick<NamespaceBinding, 'dependencies'>;
  readonly #limits: Pick<ConnectionLimits, 'tryHold' | 'release'>;
  readonly #open = new Map<string, OpenTransaction>();
  /** The memory of all open transactions. */
  #bytes = 0;

  constructor(
    binding: Pick<NamespaceBinding, 'dependencies'>,
    limits: Pick<ConnectionLimits, 'tryHold' | 'release'>,
  ) {
    this.#binding = binding;
    this.#limits = limits;
  }

  /** Declares a transaction and returns its id. Throws InvalidOperation if too many are open (semantics U17). */
  declare(): Uint8Array {
    const now = this.#binding.dependencies.scheduler.now();
    for (const [id, { startedAt }] of this.#open) {
      if (now - startedAt > OPEN_MS_MAX) this.#rollBack(id);
    }
    if (this.#open.size >= OPEN_MAX) {
      throw invalidOperation(`A connection can have no more than ${OPEN_MAX} open transactions.`);
    }
    const id = this.#binding.dependencies.random.bytes(ID_BYTES);
    this.#open.set(transactionKey(id), {
      startedAt: now,
      operations: [],
      pending: new Set(),
      isRefused: false,
      isClosed: false,
      onCommit: [],
      rights: new Map(),
      settled: new Map(),
      messages: 0,
      bytes: 0,
    });
    return id;
  }

  isOpen(id: Uint8Array): boolean {
    return this.#open.has(transactionKey(id));
  }

  /** Enlists a delivery or request when it arrives: the discharge waits until the enlistment has ended. */
  enlist(id: Uint8Array): Enlistment {
    const transaction = this.#lookUp(id);
    if (transaction === undefined) return notOpen(id);
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = () => {
        transaction.pending.delete(ended);
        resolve();
      };
    });
    transaction.pending.add(ended);
    const refuse = () => {
      if (!transaction.pending.has(ended)) return;
      transaction.isRefused = true;
      end();
    };
    const add: Enlistment['add'] = (...added) => {
      try {
        this.#add(transaction, ...added);
      } catch (error) {
        refuse();
        throw error;
      }
    };
    return { transaction: id, add, end, refuse };
  }

  #add(
    transaction: OpenTransaction,
    operation: TransactionOperation,
    need: NeededRight,
    onCommit: () => void = () => {},
  ): void {
    if (transaction.isClosed) throw unknownId();
    const messages = operation.kind === 'send' ? operation.messages.length : 0;
    requireTransactionSize(transaction.messages + messages);
    requireFits(operation);
    const lockToken = operation.kind === 'settle' ? operation.settlement.lockToken : undefined;
    const earlier = lockToken === undefined ? undefined : transaction.settled.get(lockToken);
    if (earlier !== undefined) {
      // A client may send an outcome, and repeat it when it settles the delivery (semantics U2).
      if (isSameSettlement(earlier, operation)) return;
      throw invalidOperation(
        'A transaction settles a message only once. An earlier operation settles this one already.',
      );
    }
    if (transaction.operations.length >= OPERATIONS_MAX) {
      throw invalidOperation(`A transaction can have no more than ${OPERATIONS_MAX} operations.`);
    }
    this.#hold(transaction, heldBytes(operation));
    transaction.messages += messages;
    transaction.rights.set(`${need.right}/${need.pathname}`, need);
    if (lockToken !== undefined) transaction.settled.set(lockToken, operation);
    transaction.operations.push(operation);
    transaction.onCommit.push(onCommit);
  }

  /**
   * Commits a transaction or rolls it back, once all operations that arrived before are added. `confirm`
   * checks each required right again, which may have been revoked. Throws AmqpError
   * `amqp:transaction:unknown-id` if the transaction is not open, `amqp:transaction:rollback` if one of its
   * operations was refused, and what the broker refuses the commit with. A refused commit changes nothing.
   */
  async discharge(
    id: Uint8Array,
    isRollback: boolean,
    confirm: (need: NeededRight) => Promise<unknown>,
  ): Promise<void> {
    const transaction = this.#lookUp(id);
    if (transaction === undefined) throw unknownId();
    const { operations, onCommit, rights } = transaction;
    // Operations that arrive from now on do not belong to it.
    this.#open.delete(transactionKey(id));
    try {
      await this.#untilAllAdded(transaction);
      if (isRollback) return;
      if (transaction.isRefused) throw rolledBack();
      if (operations.length === 0) return;
      for (const need of rights.values()) await confirm(need);
      await this.#binding.dependencies.broker.transact({ operations });
      for (const done of onCommit) done();
    } finally {
      this.#release(transaction);
    }
  }

  /** Waits for enlistments that have not ended, until the transaction exceeds its time limit. */
  async #untilAllAdded(transaction: OpenTransaction): Promise<void> {
    const { scheduler } = this.#binding.dependencies;
    const left = transaction.startedAt + OPEN_MS_MAX - scheduler.now();
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = scheduler.after(left, () => {
        transaction.isRefused ||= transaction.pending.size > 0;
        transaction.isClosed = true;
        resolve();
      });
    });
    await Promise.race([Promise.all(transaction.pending), late]);
    timer?.cancel();
  }

  /** Rolls a transaction back whose coordinator link has ended. */
  rollBack(id: Uint8Array): void {
    this.#rollBack(transactionKey(id));
  }

  #rollBack(key: string): void {
    const transaction = this.#open.get(key);
    if (transaction === undefined) return;
    this.#open.delete(key);
    transaction.isClosed = true;
    this.#release(transaction);
  }

  /** Throws QuotaExceeded if the open transactions hold too much (semantics U17). */
  #hold(transaction: OpenTransaction, bytes: number): void {
    if (this.#bytes + bytes > BYTES_MAX || !this.#limits.tryHold(bytes)) {
      throw new BrokerError(
        'QuotaExceeded',
        `The open transactions of a connection can hold no more than ${BYTES_MAX} bytes. Discharge one, or send large messages outside of transactions.`,
      );
    }
    this.#bytes += bytes;
    transaction.bytes += bytes;
  }

  #release({ bytes }: OpenTransaction): void {
    this.#bytes -= bytes;
    this.#limits.release(bytes);
  }

  #lookUp(id: Uint8Array): OpenTransaction | undefined {
    const transaction = this.#open.get(transactionKey(id));
    const now = this.#binding.dependencies.scheduler.now();
    if (transaction !== undefined && now - transaction.startedAt <= OPEN_MS_MAX) return transaction;
    this.#rollBack(transactionKey(id));
    return undefined;
  }
}

/** Returns the enlistment in a transaction that is not open, which refuses every operation. */
function notOpen(transaction: Uint8Array): Enlistment {
  const add = () => {
    throw unknownId();
  };
  return { transaction, add, end: () => {}, refuse: () => {} };
}

/** The sentence says two minutes, as `OPEN_MS_MAX` does. */
function unknownId(): AmqpError {
  return new AmqpError(
    'amqp:transaction:unknown-id',
    'The transaction is not open: it was discharged, or it took more than two minutes.',
  );
}

function rolledBack(): AmqpError {
  return new AmqpError(
    'amqp:transaction:rollback',
    'An operation of the transaction was refused, so the transaction was rolled back. Retry it without that operation.',
  );
}

function transactionKey(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
