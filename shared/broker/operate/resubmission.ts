import { splitSequenceNumber } from '../../domain/blocks/block.ts';
import { type Log, logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { partitionNumbers } from '../../domain/entities/entity.ts';
import type { SubQueue } from '../../domain/entities/entity-path.ts';
import type { Message } from '../../domain/messages/message.ts';
import type { ResubmitOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { LogBatch, StoredBatch } from '../ports/publication.ts';
import { withCopyAccount } from '../routing/copy-account.ts';

/** Messages that move in one transaction. */
export const BATCH_MAX = 100;
/** Messages that cannot go to the destination, after which an operation ends instead of looking for others. */
const LEFT_MAX = 1000;

/** Where dead letters go to. */
export interface ResubmitDestination {
  /** Messages that move in one transaction: fewer if each becomes many copies. */
  readonly batchMax: number;
  /** A dead letter as the message that it becomes. */
  renewed(message: Message): Message;
  /** Why the destination would refuse a message of a sender; undefined if it takes the message. */
  obstacleFor(message: Message): BrokerError | undefined;
  /** Throws QuotaExceeded. */
  requireRoom(messages: readonly Message[]): Promise<void>;
  /** Routes messages that come from a partition: one batch for each log that gets some, as far as it is known now. */
  route(
    dependencies: BrokerDependencies,
    messages: readonly Message[],
    partition: number,
  ): Promise<readonly LogBatch[]>;
  /** Routes as `route`, as far as it takes to know whether a message would be dropped on the way. */
  rehearse(
    dependencies: BrokerDependencies,
    message: Message,
    partition: number,
  ): Promise<readonly LogBatch[]>;
  /** Why a message stays that would be dropped on the way. */
  dropped(): BrokerError;
}

/**
 * Sends dead letters to a destination as new messages (semantics L16, L21). Each batch is one transaction, or one
 * publication, with the copies that it becomes, as in forwarding, so no message is ever in both places or in neither.
 * Messages that the destination would refuse or drop stay. Returns how many went; if none did, throws why.
 */
export async function resubmitTo(
  dependencies: BrokerDependencies,
  source: Receivable,
  subQueue: SubQueue,
  options: ResubmitOptions,
  destination: ResubmitDestination,
): Promise<number> {
  const work = new Resubmission(dependencies, source, destination);
  try {
    for (const partition of partitionNumbers(source)) {
      const left = options.maxMessages - work.moved;
      if (left <= 0) break;
      await work.movePartition(logOf(source, subQueue, partition), left, options.sequenceNumbers);
    }
    work.requireMoved();
  } catch (error) {
    // A refusal would say that nothing was done.
    if (work.moved === 0 || !(error instanceof BrokerError)) throw error;
  }
  return work.moved;
}

/** The numbers within the log of a partition, of those that are there. */
export function sequencesIn(numbers: readonly bigint[], partition: number): ReadonlySet<bigint> {
  const places = numbers.map(splitSequenceNumber).filter((place) => place.partition === partition);
  return new Set(places.map(({ sequence }) => sequence));
}

/** One operation: what has moved, and why other messages stay. */
class Resubmission {
  readonly #dependencies: BrokerDependencies;
  readonly #source: Receivable;
  readonly #destination: ResubmitDestination;
  #left = 0;
  /** Why the first message that stays cannot go. */
  #obstacle: BrokerError | undefined;
  /** The number of messages that have moved. */
  moved = 0;

  constructor(
    dependencies: BrokerDependencies,
    source: Receivable,
    destination: ResubmitDestination,
  ) {
    this.#dependencies = dependencies;
    this.#source = source;
    this.#destination = destination;
  }

  /** Moves up to `maxMessages` from the dead-letter queue of a partition. */
  async movePartition(
    log: Log,
    maxMessages: number,
    numbers: readonly bigint[] | undefined,
  ): Promise<void> {
    const sequences = numbers && sequencesIn(numbers, log.partition);
    if (sequences?.size === 0) return;
    const { batchMax } = this.#destination;
    await this.#dependencies.messages.forwardSome(
      log,
      { maxMessages, batchMax, ...(sequences && { sequences }) },
      policyOf(this.#source, log.subQueue, log.partition),
      (batch) => this.#move(batch),
    );
  }

  /** Throws why nothing has moved, if messages stay for a reason. */
  requireMoved(): void {
    if (this.moved === 0 && this.#obstacle !== undefined) throw this.#obstacle;
  }

  /** Moves the messages of a batch that can go; returns their numbers. */
  async #move({ copies, source: { log, taken } }: StoredBatch): Promise<readonly bigint[]> {
    const going: { readonly sequence: bigint; readonly message: Message }[] = [];
    for (const { sequence, message: deadLetter } of copies) {
      const renewed = this.#destination.renewed(deadLetter);
      const message = { ...renewed, body: renewed.body.subarray() };
      const obstacle = await this.#obstacleFor(message, log.partition);
      if (obstacle === undefined) going.push({ sequence, message });
      else this.#leave(obstacle);
    }
    if (going.length === 0) return [];
    const messages = going.map(({ message }) => message);
    const numbers = new Set(going.map(({ sequence }) => sequence));
    const leaving = taken.map(({ block, slots }) => ({
      block,
      slots: slots.filter((slot) => numbers.has(block.sequence + BigInt(slot))),
    }));
    await this.#destination.requireRoom(messages);
    const isDone = await withCopyAccount(this.#dependencies, async (counting) => {
      const batches = await this.#destination.route(counting, messages, log.partition);
      // The rules may have changed since they were asked.
      if (!haveCopies(batches, messages)) return false;
      const owner = logOf(this.#source, 'main', log.partition);
      const enqueuedAt = counting.clock.now();
      await counting.messages.publish({
        owner,
        batches,
        enqueuedAt,
        source: { log, taken: leaving },
      });
      return true;
    });
    if (!isDone) {
      this.#leave(this.#destination.dropped());
      return [];
    }
    this.moved += going.length;
    return [...numbers];
  }

  #leave(obstacle: BrokerError): void {
    this.#obstacle ??= obstacle;
    this.#left++;
    if (this.#left >= LEFT_MAX) throw this.#obstacle;
  }

  /** Why the destination would refuse a message of a sender, or drop it; undefined if it takes the message. */
  async #obstacleFor(message: Message, partition: number): Promise<BrokerError | undefined> {
    const obstacle = this.#destination.obstacleFor(message);
    if (obstacle !== undefined) return obstacle;
    const dependencies = withoutNumbers(this.#dependencies);
    const batches = await this.#destination.rehearse(dependencies, message, partition);
    return haveCopies(batches, [message]) ? undefined : this.#destination.dropped();
  }
}

/** Dependencies with which routing writes nothing: all numbers are 0. */
function withoutNumbers(dependencies: BrokerDependencies): BrokerDependencies {
  return {
    ...dependencies,
    messages: { ...dependencies.messages, takeNumbers: async () => 0n },
  };
}

/** Whether each message has a copy. Whatever rules change, all copies of a message share its body. */
function haveCopies(batches: readonly LogBatch[], messages: readonly Message[]): boolean {
  const bodies = new Set(
    batches.flatMap(({ copies }) => copies.map(({ message: { body } }) => body)),
  );
  return messages.every(({ body }) => bodies.has(body));
}
