import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type ConsumedCapacity,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import { unknownOutcome } from '../../domain/broker-error.ts';
import type { UnitMeter } from './capacity-meter.ts';
import {
  CONFLICT_TRIES_MAX,
  isConflict,
  mayBeRetried,
  pauseBeforeRetry,
  type RetryTiming,
} from './retries.ts';
import { toBrokerError } from './sdk-errors.ts';
import { orUnknown } from './unknown-outcome.ts';
import { WriteTries } from './write-tries.ts';

/** The options of a table. */
export interface TableOptions extends RetryTiming {
  /** The most items in one transaction; default: `STORAGE_LIMITS`. */
  readonly transactionItems?: number | undefined;
  readonly meter?: UnitMeter | undefined;
}

type Stored = Record<string, AttributeValue>;

/**
 * The outcome of a conditional write: done, with the item that `ReturnValues` asks for, or the item for which its
 * condition failed.
 */
export type Written<Item = Stored> =
  | { readonly done: true; readonly item: Item | undefined }
  | {
      readonly done: false;
      readonly old: Stored | undefined;
      /** An earlier try of this write may have been carried out, its answer lost. */
      readonly isUncertain: boolean;
    };

/** The outcome of a transaction: done, or the items whose conditions failed, by position. */
export type Transacted =
  | { readonly done: true }
  | {
      readonly done: false;
      readonly refused: ReadonlyMap<number, Stored | undefined>;
      /** An earlier try may have been carried out, its answer lost. */
      readonly isUncertain: boolean;
    };

/**
 * Whether a write may be repeated after a lost answer. Most writes may, because their condition can hold only once or a
 * second write does no harm. A write that may not is sent `once`; a lost answer is then an unknown outcome.
 */
export interface Repeating {
  readonly once?: boolean;
}

/** A read: its consistency, which decides the price, and how many items it asks for; a query counts as one. */
interface Read {
  readonly consistent: boolean;
  readonly items?: number;
}

/** The least capacity units that the service charges for an item. */
const LEAST_UNITS = { consistentRead: 1, staleRead: 0.5, write: 1, transactedWrite: 2 } as const;

interface Answer {
  readonly ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[] | undefined;
}

/**
 * Sends the requests of a table, whatever the form of its items. Counts units, retries conflicts with transactions
 * (semantics U4), and maps all SDK errors: throttling becomes ServiceBusy, and timeouts become ServiceTimeout.
 */
export class Requests {
  readonly #options: TableOptions;

  constructor(options: TableOptions) {
    this.#options = options;
  }

  /** Sends a read. */
  async read<Sent extends Answer>(
    { consistent, items = 1 }: Read,
    send: () => Promise<Sent>,
  ): Promise<Sent> {
    const least = consistent ? LEAST_UNITS.consistentRead : LEAST_UNITS.staleRead;
    return await this.#run('read', items * least, send);
  }

  /** Sends unconditional writes of `items` items. */
  async writeBatch<Sent extends Answer>(items: number, send: () => Promise<Sent>): Promise<Sent> {
    return await this.#run('write', items * LEAST_UNITS.write, send);
  }

  /** Sends a conditional write of one item. */
  async write<Item>(
    send: (tries: WriteTries) => Promise<Answer & { readonly Attributes?: Item | undefined }>,
    { once = false }: Repeating = {},
  ): Promise<Written<Item>> {
    const tries = new WriteTries({ once });
    for (let count = 0; ; count++) {
      try {
        await pauseBeforeRetry(this.#options, count, CONFLICT_TRIES_MAX);
        const { Attributes } = await this.#run('write', LEAST_UNITS.write, () => send(tries));
        return { done: true, item: Attributes };
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) {
          return { done: false, old: error.Item, isUncertain: tries.isUncertain };
        }
        if (isConflict(error)) continue;
        throw orUnknown(tries, error);
      }
    }
  }

  /** Sends a transaction; `items` = the number of its items. */
  async transact(items: number, send: (tries: WriteTries) => Promise<Answer>): Promise<Transacted> {
    const tries = new WriteTries({ once: false });
    for (let count = 0; ; count++) {
      await pauseBeforeRetry(this.#options, count, CONFLICT_TRIES_MAX);
      try {
        // All tries of a command have one token, by which the database recognizes them, so it takes effect once.
        await this.#run('write', items * LEAST_UNITS.transactedWrite, () => send(tries));
        return { done: true };
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw orUnknown(tries, error);
        const { isUncertain } = tries;
        const refused = refusedItems(error);
        if (refused.size > 0) return { done: false, refused, isUncertain };
        // The next command would have another token, and could undo what was done since the first took effect.
        if (isUncertain) throw unknownOutcome(error);
        if (!mayBeRetried(error)) throw toBrokerError(error);
      }
    }
  }

  async #run<Sent extends Answer>(
    kind: 'read' | 'write',
    least: number,
    send: () => Promise<Sent>,
  ): Promise<Sent> {
    const finish = this.#options.meter?.begin(kind, least);
    try {
      const answer = await send();
      finish?.(answer.ConsumedCapacity);
      return answer;
    } catch (error) {
      finish?.(undefined);
      const isDecided =
        error instanceof ConditionalCheckFailedException ||
        error instanceof TransactionCanceledException ||
        isConflict(error);
      throw isDecided ? error : toBrokerError(error);
    }
  }
}

function refusedItems(error: TransactionCanceledException): Map<number, Stored | undefined> {
  const refused = new Map<number, Stored | undefined>();
  for (const [position, reason] of (error.CancellationReasons ?? []).entries()) {
    if (reason.Code === 'ConditionalCheckFailed') refused.set(position, reason.Item);
  }
  return refused;
}
