import type {
  BatchGetItemCommandInput,
  BatchWriteItemCommandInput,
  GetItemCommandInput,
  QueryCommandInput,
  TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';
import { copyItem, type Item } from './attribute-values.ts';
import { batchGet, batchWrite } from './batches.ts';
import { NotSimulated, notSimulated } from './failures.ts';
import type { ItemKey } from './item-keys.ts';
import { getItem, query } from './reads.ts';
import { type SingleWriteInput, writeSingle } from './single-writes.ts';
import { type DatabaseSettings, State } from './state.ts';
import { type StreamRecord, Table } from './table.ts';
import { compareTexts } from './text-order.ts';
import { TransactionTokens } from './transaction-tokens.ts';
import { commit, type PreparedTransaction, prepare } from './transactions.ts';

export type { Item } from './attribute-values.ts';
export type { DatabaseSettings } from './state.ts';
export type { PreparedTransaction } from './transactions.ts';

/** The operations with one step, by the name of the SDK's command. */
const OPERATIONS = {
  GetItemCommand: (state: State, input: object) => getItem(state, input as GetItemCommandInput),
  QueryCommand: (state: State, input: object) => query(state, input as QueryCommandInput),
  BatchGetItemCommand: (state: State, input: object) =>
    batchGet(state, input as BatchGetItemCommandInput),
  BatchWriteItemCommand: (state: State, input: object) =>
    batchWrite(state, input as BatchWriteItemCommandInput),
  PutItemCommand: (state: State, input: object) =>
    writeSingle(state, 'Put', input as SingleWriteInput),
  UpdateItemCommand: (state: State, input: object) =>
    writeSingle(state, 'Update', input as SingleWriteInput),
  DeleteItemCommand: (state: State, input: object) =>
    writeSingle(state, 'Delete', input as SingleWriteInput),
};

/** The name of an SDK command with one step. */
export type OperationName = keyof typeof OPERATIONS;

/** The table and the key of an item. */
export interface ItemAddress extends ItemKey {
  readonly table: string;
}

/**
 * Tables in memory, with the semantics and the prices of DynamoDB. Time and randomness are parameters: the
 * same requests at the same instants have the same answers. It supports the operations and expressions that
 * storage sends, and throws an Error for any other.
 */
export class SimulatedDatabase {
  readonly #state: State;
  readonly #tokens = new TransactionTokens();
  #unsupported: NotSimulated | undefined;

  constructor(settings: DatabaseSettings) {
    this.#state = new State(settings);
  }

  /** Why the first request that is not supported failed. Storage takes that for an outage, and goes on. */
  get unsupported(): NotSimulated | undefined {
    return this.#unsupported;
  }

  /**
   * Executes one operation at this instant. `name` = the SDK command's name, `input` = its marshalled
   * input. Throws the exceptions of the SDK.
   */
  execute(name: OperationName, input: object): object {
    return this.#noting(() => {
      const operation = OPERATIONS[name];
      if (operation === undefined) throw notSimulated(`the operation ${name}`);
      return operation(this.#state, input);
    });
  }

  /**
   * The first half of TransactWriteItems: checks conditions and conflicts, and holds the items until the
   * commit. Throws TransactionCanceledException and, because of its token,
   * TransactionInProgressException and IdempotentParameterMismatchException.
   */
  prepare(input: object): PreparedTransaction {
    return this.#noting(() =>
      prepare(this.#state, this.#tokens, input as TransactWriteItemsCommandInput),
    );
  }

  /** The second half: writes everything at once and releases the items. */
  commit(prepared: PreparedTransaction): object {
    return commit(this.#state, this.#tokens, prepared);
  }

  /** The items that the service may delete at this instant, because their time to live is over. */
  expirable(): readonly ItemAddress[] {
    const now = this.#state.now();
    return [...this.#state.tables.values()].flatMap(({ name, expiring }) =>
      [...expiring]
        .filter(({ current }) => Table.isExpired(current, now))
        .map(({ pk, sk }) => ({ table: name, pk, sk })),
    );
  }

  /** Deletes one of them. Does nothing if its time to live is not over, or if a transaction holds it. */
  expire({ table, pk, sk }: ItemAddress): void {
    const now = this.#state.now();
    const current = this.#state.table(table).find(pk, sk)?.current;
    if (current === undefined || !Table.isExpired(current, now)) return;
    if (this.#state.isHeld(table, pk, sk)) return;
    this.#state.table(table).write(pk, sk, undefined, 0, now);
  }

  /** Lets `onWrite` hear of every item of a table that is written. */
  watch(table: string, onWrite: (record: StreamRecord) => void): void {
    this.#state.table(table).onWrite = onWrite;
  }

  /** All items of a table as they are now, sorted by key. */
  items(table: string): readonly Item[] {
    const collections = [...this.#state.table(table).collections.values()];
    return collections
      .sort((a, b) => compareTexts(a.pk, b.pk))
      .flatMap(({ histories }) =>
        histories.flatMap(({ current: { item } }) => (item === undefined ? [] : [copyItem(item)])),
      );
  }

  #noting<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (error instanceof NotSimulated) this.#unsupported ??= error;
      throw error;
    }
  }
}
