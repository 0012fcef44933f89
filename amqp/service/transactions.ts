import type { TransactionOperation } from '../../shared/broker/broker.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { AmqpError } from '../wire/wire-error.ts';
import type { GatewayParts } from './parts.ts';

/** How long a transaction may be open, from its declaration on (semantics §9). */
const OPEN_MS_MAX = 2 * 60 * 1000;
/** What one connection may have open, and what may be in one; the broker's own limits are lower. */
const OPEN_MAX = 100;
const OPERATIONS_MAX = 1000;
const ID_BYTES = 16;

interface OpenTransaction {
  readonly startedAt: number;
  readonly operations: TransactionOperation[];
  /** Called once the operations are carried out. */
  readonly onCommit: (() => void)[];
}

/**
 * The open transactions of one connection. What belongs to one is only noted; the broker carries all
 * of it out, or nothing, when it is discharged. So a rollback is to forget.
 */
export class Transactions {
  readonly #parts: GatewayParts;
  readonly #open = new Map<string, OpenTransaction>();

  constructor(parts: GatewayParts) {
    this.#parts = parts;
  }

  /** Declares a transaction; its id comes back. Throws InvalidOperation where there are too many. */
  declare(): Uint8Array {
    const now = this.#parts.clock.now();
    for (const [id, { startedAt }] of this.#open) {
      if (now - startedAt > OPEN_MS_MAX) this.#open.delete(id);
    }
    if (this.#open.size >= OPEN_MAX) {
      throw new BrokerError(
        'InvalidOperation',
        `No more than ${OPEN_MAX} transactions can be open.`,
      );
    }
    const id = this.#parts.random.bytes(ID_BYTES);
    this.#open.set(keyOf(id), { startedAt: now, operations: [], onCommit: [] });
    return id;
  }

  isOpen(id: Uint8Array): boolean {
    return this.#open.has(keyOf(id));
  }

  /** Notes what belongs to a transaction. Throws where it is not open, or takes no more. */
  add(id: Uint8Array, operation: TransactionOperation, onCommit: () => void = () => {}): void {
    const transaction = this.#find(id);
    if (transaction.operations.length >= OPERATIONS_MAX) {
      throw new BrokerError(
        'InvalidOperation',
        `A transaction takes no more than ${OPERATIONS_MAX} operations.`,
      );
    }
    transaction.operations.push(operation);
    transaction.onCommit.push(onCommit);
  }

  /** Carries a transaction out, or forgets it. Throws what it is refused for, as a whole. */
  async discharge(id: Uint8Array, isRollback: boolean): Promise<void> {
    const { operations, onCommit } = this.#find(id);
    this.#open.delete(keyOf(id));
    if (isRollback || operations.length === 0) return;
    await this.#parts.broker.transact({ operations });
    for (const done of onCommit) done();
  }

  /** Forgets a transaction, whose coordinator has gone. */
  drop(id: Uint8Array): void {
    this.#open.delete(keyOf(id));
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
