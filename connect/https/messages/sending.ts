import { writeOutgoing } from '../../../amqp/messages/write-message.ts';
import type { SendOptions, SentMessage } from '../../../shared/broker/broker.ts';
import { type Call, type GroupLimits, Lanes } from '../../../shared/broker/group-commit/lanes.ts';
import { SendOrder, type SendTurn } from '../../../shared/broker/group-commit/send-order.ts';
import { mayBeOfOne } from '../../../shared/broker/group-commit/sends.ts';
import { requireSendPath } from '../../../shared/broker/send/send.ts';
import { BrokerError, messageSizeExceeded } from '../../../shared/domain/broker-error.ts';
import type { Clock, RandomSource } from '../../../shared/domain/clock.ts';
import { type Entity, partitionsOf } from '../../../shared/domain/entities/entity.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { placementKeyOf } from '../../../shared/domain/messages/partition.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import type { Calls } from '../calls/caller.ts';
import { SUCCESS } from '../calls/success.ts';
import type { RemoteEntities } from '../entities.ts';
import { EXACT_TYPE, writeExact } from '../format/exact-batch.ts';
import { newId } from '../format/ids.ts';
import { readNumbers } from '../format/numbers.ts';
import { answerCalls } from './answer-calls.ts';

/** As many messages as the service stores in few writes, and as a transaction may hold. */
const LIMITS_OF_GROUP: GroupLimits = {
  calls: 100,
  messages: LIMITS.transactionMessages,
  bytes: 512 * 1024,
};

/** Whether the messages of a send have a due time, which gives them numbers by which they can be cancelled. */
type Timing = 'now' | 'scheduled';

interface SendRequest {
  readonly path: EntityPath;
  readonly timing: Timing | undefined;
  readonly messages: readonly OutgoingMessage[];
  readonly encoded: readonly Buffer[];
  readonly isOnce: boolean;
}

type SendCall = Call<SendRequest, readonly SentMessage[]>;

/** The dependencies of sending over HTTP. */
export interface SendingDependencies {
  readonly caller: Calls;
  readonly entities: RemoteEntities;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly scheduler: Scheduler;
  /** Whether sends get ids where the service takes one, so that they are repeated where an answer got lost. */
  readonly sendsOnce: boolean;
}

/**
 * Sends over HTTP. Sends that arrive together for one partition of an entity share a request; if a group is refused,
 * each half of it is tried alone, so that a few wrong sends, and groups that are too large for one write, take few
 * requests. A send goes alone if it is large, or if it might be refused alone but not in a group.
 */
export class RemoteSending {
  readonly #dependencies: SendingDependencies;
  readonly #order = new SendOrder();
  readonly #lanes: Lanes<SendRequest, readonly SentMessage[]>;

  constructor(dependencies: SendingDependencies) {
    this.#dependencies = dependencies;
    this.#lanes = new Lanes(dependencies.scheduler, {
      limits: LIMITS_OF_GROUP,
      patience: 0.5,
      carryOut: (calls) => this.#sendGroup(calls),
    });
  }

  /** See `Broker.send`. */
  async send(
    path: EntityPath,
    messages: readonly OutgoingMessage[],
    { orderedBy }: SendOptions = {},
  ): Promise<readonly SentMessage[]> {
    requireSendPath(path);
    if (orderedBy === undefined) return await this.#send(path, messages);
    return await this.#order.run(orderedBy, (turn) => this.#send(path, messages, turn, orderedBy));
  }

  async #send(
    path: EntityPath,
    messages: readonly OutgoingMessage[],
    turn?: SendTurn,
    orderedBy?: object,
  ): Promise<readonly SentMessage[]> {
    const encoded = messages.map(writeOutgoing);
    const { clock, entities, sendsOnce } = this.#dependencies;
    const entity = await entities.destination(path);
    requireAnswerable(entity, encoded);
    const isOnce = sendsOnce && mayBeTransacted(entity, messages);
    // A client that cancels by the number sends without an order. In an order, what is due already is due now.
    const dueAfter = orderedBy === undefined ? Number.NEGATIVE_INFINITY : clock.now();
    const request = { path, timing: timingOf(messages, dueAfter), messages, encoded, isOnce };
    const bytes = request.encoded.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const size = { messages: messages.length, bytes };
    const lane = laneOf(entity, request);
    const isShared = size.messages < LIMITS_OF_GROUP.messages && bytes < LIMITS_OF_GROUP.bytes;
    if (lane === undefined || !isShared) {
      await turn?.othersStored();
      return await this.#request(request);
    }
    const sent = this.#lanes.join(lane, request, size, orderedBy);
    turn?.joined();
    return await sent;
  }

  async #sendGroup(calls: readonly SendCall[]): Promise<void> {
    const [first] = calls;
    if (first === undefined) return;
    try {
      const sent = await this.#request({
        ...first.request,
        messages: calls.flatMap(({ request }) => request.messages),
        encoded: calls.flatMap(({ request }) => request.encoded),
      });
      answerCalls(calls, sent);
    } catch (error) {
      if (calls.length > 1 && mayBeOfOne(error)) {
        const half = Math.ceil(calls.length / 2);
        await this.#sendGroup(calls.slice(0, half));
        await this.#sendGroup(calls.slice(half));
      } else for (const call of calls) call.reject(error);
    }
  }

  async #request(request: SendRequest): Promise<readonly SentMessage[]> {
    const { caller, entities, random } = this.#dependencies;
    const { path, timing, messages, encoded, isOnce } = request;
    const sending = caller.call({
      method: 'POST',
      path: `${path.name}/messages${timing === 'scheduled' ? '/$schedule' : ''}`,
      headers: {
        'Content-Type': EXACT_TYPE,
        ...(isOnce && { 'Idempotency-Key': newId(random) }),
      },
      body: writeExact(encoded),
      success: timing === 'scheduled' ? SUCCESS.json : SUCCESS.stored,
      isRepeatable: isOnce,
    });
    const { text } = await sending.catch((error: unknown) => {
      if (mayBeMadeAnew(error)) entities.forget(path);
      throw error;
    });
    if (timing === 'scheduled') return numbered(messages, readNumbers(text));
    return messages.map(({ messageId = '' }) => ({ messageId }));
  }
}

/**
 * Requires that the messages can be received over HTTP, too. The service itself refuses what is too large for the
 * entity. Throws MessageSizeExceeded.
 */
function requireAnswerable({ description }: Entity, encoded: readonly Buffer[]): void {
  if (description.kind === 'subscription') return;
  const bytesMax = Math.max(
    description.maxMessageSizeInKilobytes * 1024,
    LIMITS.answeredMessageBytes,
  );
  const largest = Math.max(...encoded.map(({ byteLength }) => byteLength));
  if (largest <= bytesMax) return;
  throw messageSizeExceeded(
    `A message of ${largest} bytes can be sent, but not received, over HTTPS: the limit is ${bytesMax} bytes. Use the tables or the gateway.`,
  );
}

/** Whether a refusal may be due to settings that the entity had before it was deleted and made anew. */
function mayBeMadeAnew(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'InvalidOperation';
}

/** Whether the service takes the messages of a send under an id. In a partitioned entity that needs a key. */
function mayBeTransacted(entity: Entity, messages: readonly OutgoingMessage[]): boolean {
  const { description } = entity;
  const [first] = messages;
  if (messages.length > LIMITS.transactionMessages || first === undefined) return false;
  if (partitionsOf(entity) === 1) return true;
  return description.kind !== 'subscription' && placementKeyOf(first, description) !== undefined;
}

/** Undefined if some messages are due after this instant, epoch ms, and some are not. */
function timingOf(messages: readonly OutgoingMessage[], dueAfter: number): Timing | undefined {
  const due = messages.filter(
    ({ scheduledEnqueueAt }) => scheduledEnqueueAt !== undefined && scheduledEnqueueAt > dueAfter,
  ).length;
  if (due === 0) return 'now';
  return due === messages.length ? 'scheduled' : undefined;
}

function numbered(
  messages: readonly OutgoingMessage[],
  numbers: readonly (bigint | undefined)[],
): readonly SentMessage[] {
  return messages.map(({ messageId = '' }, i) => {
    const sequenceNumber = numbers[i];
    return sequenceNumber === undefined ? { messageId } : { messageId, sequenceNumber };
  });
}

/** Sends of one lane go to the same partition, at the same time; undefined = the send must go alone. */
function laneOf(entity: Entity, { path, timing, messages }: SendRequest): string | undefined {
  const { description } = entity;
  if (timing === undefined || description.kind === 'subscription') return undefined;
  // It refuses a group only if none of its messages matches (semantics T7).
  if (description.kind === 'topic' && description.filteringMessagesBeforePublishing)
    return undefined;
  if (partitionsOf(entity) === 1) return `${path.key} ${timing}`;
  const keys = messages.map((message) => placementKeyOf(message, description));
  const [key] = keys;
  if (keys.some((other) => other !== key)) return undefined;
  return `${path.key} ${timing} ${key === undefined ? '' : `=${key}`}`;
}
