import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type ConsumedCapacity,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import type { UnitMeter } from './capacity-meter.ts';
import { orUnknown, toBrokerError, unknownOutcome } from './errors.ts';
import {
  CONFLICT_TRIES_MAX,
  isConflict,
  isTransient,
  pauseBeforeRetry,
  type RetryTiming,
} from './retries.ts';
import { WriteTries } from './write-tries.ts';

/** What a table is used with. */
export interface TableOptions extends RetryTiming {
  /** The most items in one transaction; default: `STORAGE_LIMITS`. */
  readonly transactionItems?: number | undefined;
  readonly meter?: UnitMeter | undefined;
}

type Stored = Record<string, AttributeValue>;

/** A conditional write either happened, with the item as `ReturnValues` asks for it, or left the item that stood in its way. */
export type Written<Item = Stored> =
  | { readonly done: true; readonly item: Item | undefined }
  | {
      readonly done: false;
      readonly old: Stored | undefined;
      /** An earlier try of this write may have been carried out, its answer lost. */
      readonly isRepeated: boolean;
    };

/** A transaction either happened, or names the items whose conditions failed, by position. */
export type Transacted =
  | { readonly done: true }
  | {
      readonly done: false;
      readonly refused: ReadonlyMap<number, Stored | undefined>;
      /** An earlier try may have been carried out, its answer lost. */
      readonly isRepeated: boolean;
    };

/**
 * Whether a write may be repeated after its answer was lost. Most may: their condition can hold only once,
 * or a second time does no harm. One that may not is sent `once`; then nothing heard is an unknown outcome.
 */
export interface Repeating {
  readonly once?: boolean;
}

interface Answer {
  readonly ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[] | undefined;
}

/**
 * Sends the requests of a table, whatever form its items have. Counts units, repeats what conflicts with others
 * for a moment, and lets no exception of the SDK out: throttling becomes ServiceBusy, time-outs ServiceTimeout.
 */
export class Requests {
  readonly #options: TableOptions;

  constructor(options: TableOptions) {
    this.#options = options;
  }

  /** Sends a request whose answer is all that counts. */
  async send<Sent extends Answer>(
    kind: 'read' | 'write',
    send: () => Promise<Sent>,
  ): Promise<Sent> {
    return await this.#run(kind, 0, send);
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
        const { Attributes } = await this.#run('write', 0, () => send(tries));
        return { done: true, item: Attributes };
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) {
          return { done: false, old: error.Item, isRepeated: tries.mayHaveHappened };
        }
        if (isConflict(error)) continue;
        throw orUnknown(tries, error);
      }
    }
  }

  /** Sends a transaction of so many items. */
  async transact(items: number, send: (tries: WriteTries) => Promise<Answer>): Promise<Transacted> {
    const tries = new WriteTries({ once: false });
    for (let count = 0; ; count++) {
      await pauseBeforeRetry(this.#options, count, CONFLICT_TRIES_MAX);
      try {
        // Its tries bear one token, by which the database knows them: carried out is carried out once.
        await this.#run('transact', items, () => send(tries));
        return { done: true };
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw orUnknown(tries, error);
        const isRepeated = tries.mayHaveHappened;
        const refused = refusedItems(error);
        if (refused.size > 0) return { done: false, refused, isRepeated };
        // To the database the next command is another transaction: it could undo what was done since.
        if (isRepeated) throw unknownOutcome(error);
        if (!isTransient(error)) throw toBrokerError(error);
      }
    }
  }

  async #run<Sent extends Answer>(
    kind: 'read' | 'write' | 'transact',
    transactItems: number,
    send: () => Promise<Sent>,
  ): Promise<Sent> {
    const finish = this.#options.meter?.begin(kind, transactItems);
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
