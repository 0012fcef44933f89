import type { TransactionOperation } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { requireTransactionSize } from '../../shared/domain/transaction-rules.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import { AmqpError } from '../wire/wire-error.ts';
import type { GatewayParts } from './parts.ts';

const {
  transactionMs: OPEN_MS_MAX,
  transactions: OPEN_MAX,
  transactionOperations: OPERATIONS_MAX,
  transactionBytes: BYTES_MAX,
} = BUDGETS.connection;
const ID_BYTES = 16;
/** What an operation takes beside the message that it sends. */
const OPERATION_BYTES = BUDGETS.weights.deliveryBytes;

interface OpenTransaction {
  readonly startedAt: number;
  readonly operations: TransactionOperation[];
  /** Called once the operations are carried out. */
  readonly onCommit: (() => void)[];
  messages: number;
  bytes: number;
}

/** What goes with an operation of a transaction. */
export interface OperationDetails {
  /** What the client sent for it. */
  readonly bytes?: number;
  /** Called once the transaction is carried out. */
  readonly onCommit?: () => void;
}

/**
 * The open transactions of one connection. What belongs to one is only noted, and counted as what the
 * connection holds; the broker carries all of it out, or nothing, when it is discharged. So a rollback
 * is to forget.
 */
export class Transactions {
  readonly #parts: GatewayParts;
  readonly #limits: Pick<ConnectionLimits, 'tryHold' | 'release'>;
  readonly #open = new Map<string, OpenTransaction>();
  /** What all of them hold. */
  #bytes = 0;

  constructor(parts: GatewayParts, limits: Pick<ConnectionLimits, 'tryHold' | 'release'>) {
    this.#parts = parts;
    this.#limits = limits;
  }

  /** Declares a transaction; its id comes back. Throws InvalidOperation where there are too many. */
  declare(): Uint8Array {
    const now = this.#parts.clock.now();
    for (const [id, { startedAt }] of this.#open) {
      if (now - startedAt > OPEN_MS_MAX) this.#forget(id);
    }
    if (this.#open.size >= OPEN_MAX) {
      throw new BrokerError(
        'InvalidOperation',
        `No more than ${OPEN_MAX} transactions can be open.`,
      );
    }
    const id = this.#parts.random.bytes(ID_BYTES);
    const nothing = { operations: [], onCommit: [], messages: 0, bytes: 0 };
    this.#open.set(keyOf(id), { startedAt: now, ...nothing });
    return id;
  }

  isOpen(id: Uint8Array): boolean {
    return this.#open.has(keyOf(id));
  }

  /**
   * Notes what belongs to a transaction. Throws where it is not open, or takes no more: InvalidOperation
   * for too many operations or messages, QuotaExceeded for too many bytes.
   */
  add(
    id: Uint8Array,
    operation: TransactionOperation,
    { bytes = 0, onCommit = () => {} }: OperationDetails = {},
  ): void {
    const transaction = this.#find(id);
    const messages = operation.kind === 'send' ? operation.messages.length : 0;
    requireTransactionSize(transaction.messages + messages);
    if (transaction.operations.length >= OPERATIONS_MAX) {
      throw new BrokerError(
        'InvalidOperation',
        `A transaction takes no more than ${OPERATIONS_MAX} operations.`,
      );
    }
    this.#hold(transaction, bytes + OPERATION_BYTES);
    transaction.messages += messages;
    transaction.operations.push(operation);
    transaction.onCommit.push(onCommit);
  }

  /** Carries a transaction out, or forgets it. Throws what it is refused for, as a whole. */
  async discharge(id: Uint8Array, isRollback: boolean): Promise<void> {
    const transaction = this.#find(id);
    const { operations, onCommit } = transaction;
    this.#open.delete(keyOf(id));
    try {
      if (isRollback || operations.length === 0) return;
      await this.#parts.broker.transact({ operations });
      for (const done of onCommit) done();
    } finally {
      this.#release(transaction);
    }
  }

  /** Forgets a transaction, whose coordinator has gone. */
  drop(id: Uint8Array): void {
    this.#forget(keyOf(id));
  }

  #forget(key: string): void {
    const transaction = this.#open.get(key);
    if (transaction === undefined) return;
    this.#open.delete(key);
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

  #find(id: Uint8Array): OpenTransaction {
    const transaction = this.#open.get(keyOf(id));
    const now = this.#parts.clock.now();
    if (transaction !== undefined && now - transaction.startedAt <= OPEN_MS_MAX) return transaction;
    throw new AmqpError(
      'amqp:transaction:unknown-id',
      'The transaction is not open: it was discharged, or it took more than two minutes.',
    );
  }
}

function keyOf(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
