import type { TransactionOperation } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { AccessRight } from '../../shared/domain/entities/descriptions.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import { requireTransactionSize } from '../../shared/domain/messages/transaction-rules.ts';
import type { Timer } from '../../shared/domain/scheduler.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { GatewayDependencies } from '../service/dependencies.ts';
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
  /** Monotonic ms: to move the clock of the namespace ends no transaction. */
  readonly startedAt: number;
  readonly operations: TransactionOperation[];
  /** What has come in and is not noted yet. */
  readonly pending: Set<Promise<void>>;
  /** An operation was refused, so the rest is not carried out either. */
  isRefused: boolean;
  /** Rolled back: nothing more is noted. */
  isClosed: boolean;
  /** Called once the operations are carried out. */
  readonly onCommit: (() => void)[];
  /** The rights that the operations take, each once. */
  readonly rights: Map<string, NeededRight>;
  /** The operations that settle messages, by their lock tokens. */
  readonly settled: Map<string, TransactionOperation>;
  messages: number;
  bytes: number;
}

/** The right that an operation takes, as `Authorization.confirm` asks for it. */
export interface NeededRight {
  readonly pathname: string;
  readonly path: EntityPath;
  readonly right: AccessRight;
}

/**
 * A delivery or request of a transaction, from when it comes in until its operations are noted. `end` or
 * `refuse` is called at last; what follows the first of them has no effect.
 */
export interface Enlistment {
  /** The id of the transaction. */
  readonly transaction: Uint8Array;
  /**
   * Notes an operation; `onCommit` is called once the transaction is carried out. Throws
   * `amqp:transaction:unknown-id` where the transaction is not open, or where the discharge came first;
   * InvalidOperation for too many operations or messages and for a message that it settles already;
   * QuotaExceeded for too many bytes; and properties that no entity takes are refused as they are outside
   * of transactions.
   */
  add(operation: TransactionOperation, need: NeededRight, onCommit?: () => void): void;
  /** All of its operations are noted. */
  end(): void;
  /** It was refused, or its outcome will never be known. */
  refuse(): void;
}

/**
 * The open transactions of one connection. What belongs to one is only noted, and counted as what the
 * connection holds; the broker carries all of it out, or nothing, when it is discharged. So a rollback
 * is to forget.
 *
 * A client may send operations and the discharge without waiting for an answer (Qpid Proton does). What
 * came in before the discharge belongs to the transaction, so the discharge waits until it is noted. If an
 * operation is refused, the discharge rolls the transaction back: the client may not have heard of the
 * refusal when it asked for the commit.
 */
export class Transactions {
  readonly #dependencies: GatewayDependencies;
  readonly #limits: Pick<ConnectionLimits, 'tryHold' | 'release'>;
  readonly #open = new Map<string, OpenTransaction>();
  /** What all of them hold. */
  #bytes = 0;

  constructor(
    dependencies: GatewayDependencies,
    limits: Pick<ConnectionLimits, 'tryHold' | 'release'>,
  ) {
    this.#dependencies = dependencies;
    this.#limits = limits;
  }

  /** Declares a transaction; its id comes back. Throws InvalidOperation where there are too many. */
  declare(): Uint8Array {
    const now = this.#dependencies.scheduler.now();
    for (const [id, { startedAt }] of this.#open) {
      if (now - startedAt > OPEN_MS_MAX) this.#rollBack(id);
    }
    if (this.#open.size >= OPEN_MAX) {
      throw new BrokerError(
        'InvalidOperation',
        `No more than ${OPEN_MAX} transactions can be open.`,
      );
    }
    const id = this.#dependencies.random.bytes(ID_BYTES);
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

  /** To be called when a delivery or request of a transaction comes in: the discharge waits for it. */
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
      // A client may say an outcome, and say it again as it settles the delivery.
      if (isSameSettlement(earlier, operation)) return;
      throw new BrokerError(
        'InvalidOperation',
        'A transaction settles a message once; this one is settled by an earlier operation.',
      );
    }
    if (transaction.operations.length >= OPERATIONS_MAX) {
      throw new BrokerError(
        'InvalidOperation',
        `A transaction takes no more than ${OPERATIONS_MAX} operations.`,
      );
    }
    this.#hold(transaction, heldBytes(operation));
    transaction.messages += messages;
    transaction.rights.set(`${need.right}/${need.pathname}`, need);
    if (lockToken !== undefined) transaction.settled.set(lockToken, operation);
    transaction.operations.push(operation);
    transaction.onCommit.push(onCommit);
  }

  /**
   * Carries a transaction out, or forgets it, once all that came in before is noted. Each right that it
   * takes is confirmed: it may have ended since. Throws what it is refused for, as a whole, and
   * `amqp:transaction:rollback` where one of its operations was refused.
   */
  async discharge(
    id: Uint8Array,
    isRollback: boolean,
    confirm: (need: NeededRight) => Promise<unknown>,
  ): Promise<void> {
    const transaction = this.#lookUp(id);
    if (transaction === undefined) throw unknownId();
    const { operations, onCommit, rights } = transaction;
    // What comes in from now on belongs to it no more.
    this.#open.delete(transactionKey(id));
    try {
      await this.#untilAllAdded(transaction);
      if (isRollback) return;
      if (transaction.isRefused) throw rolledBack();
      if (operations.length === 0) return;
      for (const need of rights.values()) await confirm(need);
      await this.#dependencies.broker.transact({ operations });
      for (const done of onCommit) done();
    } finally {
      this.#release(transaction);
    }
  }

  /** Waits for what came in and is not noted yet, for as long as a transaction may take. */
  async #untilAllAdded(transaction: OpenTransaction): Promise<void> {
    const { scheduler } = this.#dependencies;
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

  /** Forgets a transaction, whose coordinator has gone. */
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

  #hold(transaction: OpenTransaction, bytes: number): void {
    if (this.#bytes + bytes > BYTES_MAX || !this.#limits.tryHold(bytes)) {
      throw new BrokerError(
        'QuotaExceeded',
        `The open transactions of a connection hold no more than ${BYTES_MAX} bytes. Discharge one, or send larger messages outside of transactions.`,
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
    const now = this.#dependencies.scheduler.now();
    if (transaction !== undefined && now - transaction.startedAt <= OPEN_MS_MAX) return transaction;
    this.#rollBack(transactionKey(id));
    return undefined;
  }
}

/** In a transaction that is not open: every operation is refused. */
function notOpen(transaction: Uint8Array): Enlistment {
  const add = () => {
    throw unknownId();
  };
  return { transaction, add, end: () => {}, refuse: () => {} };
}

function unknownId(): AmqpError {
  return new AmqpError(
    'amqp:transaction:unknown-id',
    'The transaction is not open: it was discharged, or it took more than two minutes.',
  );
}

function rolledBack(): AmqpError {
  return new AmqpError(
    'amqp:transaction:rollback',
    'An operation of the transaction was refused, so none was carried out. Begin the transaction again without it.',
  );
}

function transactionKey(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
