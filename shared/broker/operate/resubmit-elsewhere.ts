import { splitSequenceNumber } from '../../domain/blocks/block.ts';
import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError, entityNotFound, invalidOperation } from '../../domain/broker-error.ts';
import type { QueueDescription, TopicDescription } from '../../domain/entities/descriptions.ts';
import { type Entity, isOfKind, partitionNumbers } from '../../domain/entities/entity.ts';
import type { EntityPath, SubQueue } from '../../domain/entities/entity-path.ts';
import { withoutDeadLettering } from '../../domain/messages/dead-letter-reasons.ts';
import type { Message } from '../../domain/messages/message.ts';
import { messageSize, tooLarge } from '../../domain/messages/outgoing-rules.ts';
import type { ResubmitOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findEntity, requireSendable } from '../entity-lookup.ts';
import type { StoredBatch } from '../ports/publication.ts';
import { withCopyAccount } from '../routing/copy-account.ts';
import { matchArriving } from '../routing/match-subscriptions.ts';
import { enter } from '../routing/route.ts';
import { requireQuota, requireSendPath } from '../send/send.ts';

/** Messages that move in one transaction: few to a topic, whose subscriptions may make many copies of each. */
const BATCH_MAX = 100;
const TOPIC_BATCH_MAX = 10;
/** Messages that cannot go to the destination, after which an operation ends instead of looking for others. */
const LEFT_MAX = 1000;

/**
 * Sends dead letters to another queue or topic, as new messages (semantics L21). Each batch is one transaction, or one
 * publication, with the copies that it becomes, as in forwarding, so no message is ever in both places or in neither.
 * Messages that the destination would refuse or drop stay. Returns how many went; if none did, throws why.
 */
export async function resubmitElsewhere(
  dependencies: BrokerDependencies,
  source: Receivable,
  subQueue: SubQueue,
  options: ResubmitOptions & { readonly to: EntityPath },
): Promise<number> {
  const { to } = options;
  requireSendPath(to);
  // Read anew: it may have been deleted, and created again, since this process read it.
  dependencies.entities.forget(to.key);
  const target = await findEntity(dependencies, to);
  requireSendable(target);
  const { description } = target;
  if (description.kind === 'subscription') throw entityNotFound(to.name);
  const work = new Resubmission(dependencies, source, { ...target, description });
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
  readonly #target: Entity<QueueDescription | TopicDescription>;
  #left = 0;
  /** Why the first message that stays cannot go. */
  #obstacle: BrokerError | undefined;
  /** The number of messages that have moved. */
  moved = 0;

  constructor(
    dependencies: BrokerDependencies,
    source: Receivable,
    target: Entity<QueueDescription | TopicDescription>,
  ) {
    this.#dependencies = dependencies;
    this.#source = source;
    this.#target = target;
  }

  /** Moves up to `maxMessages` from the dead-letter queue of a partition. */
  async movePartition(
    log: ReturnType<typeof logOf>,
    maxMessages: number,
    numbers: readonly bigint[] | undefined,
  ): Promise<void> {
    const sequences = numbers && sequencesIn(numbers, log.partition);
    if (sequences?.size === 0) return;
    const batchMax = isOfKind(this.#target, 'topic') ? TOPIC_BATCH_MAX : BATCH_MAX;
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
    const sent = copies.map(({ sequence, message }) => ({ sequence, message: asSent(message) }));
    const going: typeof sent = [];
    for (const copy of sent) {
      const obstacle = await this.#obstacleFor(copy.message);
      if (obstacle === undefined) going.push(copy);
      else this.#leave(obstacle);
    }
    if (going.length === 0) return [];
    const messages = going.map(({ message }) => message);
    const numbers = new Set(going.map(({ sequence }) => sequence));
    const leaving = taken.map(({ block, slots }) => ({
      block,
      slots: slots.filter((slot) => numbers.has(block.sequence + BigInt(slot))),
    }));
    await requireQuota(this.#dependencies, this.#target, this.#target.description, messages);
    try {
      await withCopyAccount(this.#dependencies, async (counting) => {
        const batches = await enter(counting, this.#target, messages, 'resubmitted');
        const owner = logOf(this.#source, 'main', log.partition);
        const enqueuedAt = counting.clock.now();
        const source = { log, taken: leaving };
        await counting.messages.publish({ owner, batches, enqueuedAt, source });
      });
    } catch (error) {
      // The rules have changed since they were asked.
      if (!(error instanceof BrokerError) || error.code !== 'NoMatchingSubscription') throw error;
      this.#leave(this.#unmatched());
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
  async #obstacleFor(message: Message): Promise<BrokerError | undefined> {
    const { name, description } = this.#target;
    const bytes = messageSize(message);
    const bytesMax = this.#target.description.maxMessageSizeInKilobytes * 1024;
    if (bytes > bytesMax) return tooLarge('message', bytes, bytesMax);
    if (isOfKind(this.#target, 'topic')) {
      const { matched } = await matchArriving(
        this.#dependencies,
        this.#target,
        [message],
        'forwarded',
      );
      return matched.isUnmatched ? this.#unmatched() : undefined;
    }
    const needsSession = description.kind === 'queue' && description.requiresSession;
    if (!needsSession || message.sessionId !== undefined) return undefined;
    return invalidOperation(
      `'${name}' requires sessions, and the messages have no session id, so they stay where they are. Receive them, and send them with one.`,
    );
  }

  #unmatched(): BrokerError {
    return new BrokerError(
      'NoMatchingSubscription',
      `No subscription of the topic '${this.#target.name}' matches the messages, so they stay where they are.`,
    );
  }
}

/** The message as one that is sent now: it has been in no other entity, and was never forwarded. */
function asSent(message: Message): Message {
  const { hops: _, enqueuedSequenceNumber: __, ...rest } = withoutDeadLettering(message);
  return rest;
}
