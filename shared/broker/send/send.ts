import { splitSequenceNumber } from '../../domain/blocks/block.ts';
import { BrokerError, entityNotFound, invalidOperation } from '../../domain/broker-error.ts';
import type { RandomSource } from '../../domain/clock.ts';
import type { IngressSettings, TopicDescription } from '../../domain/entities/descriptions.ts';
import { type Entity, isOfKind, partitionsOf } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { totalMegabytes } from '../../domain/entities/entity-settings.ts';
import { firstOccurrences } from '../../domain/messages/duplicates.ts';
import {
  capTimeToLive,
  type Message,
  type OutgoingMessage,
} from '../../domain/messages/message.ts';
import {
  messageSize,
  requireSendableMessages,
  requireSessionIds,
} from '../../domain/messages/outgoing-rules.ts';
import { sharedPlacementKey } from '../../domain/messages/partition.ts';
import type { SendOptions, SentMessage } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { ENTITY_READS_MAX, findEntity, isNotFound, requireSendable } from '../entity-lookup.ts';
import { withCopyAccount } from '../routing/copy-account.ts';
import { matchArriving } from '../routing/match-subscriptions.ts';
import { placeFor } from '../routing/placement.ts';
import { type Detection, detectionOf } from './deduplication.ts';
import { append, publish, type Sending, store } from './store.ts';

/** Messages that an entity has accepted, to be stored together: all or none, in one partition. */
export interface AcceptedMessages {
  readonly entity: Entity;
  readonly messages: readonly Message[];
  readonly detection: Detection | undefined;
  /** The key that decides their partition; undefined = any partition, or there is only one. */
  readonly placementKey: string | undefined;
}

/** The numbers of stored messages; undefined for a message that is not stored under a number its sender may see. */
export type SentNumbers = ReadonlyMap<Message, bigint | undefined>;

/** Stores accepted messages. Throws as `storeMessages`. */
export type StoreSend = (accepted: AcceptedMessages, options: SendOptions) => Promise<SentNumbers>;

/** Sends one message or a batch; see `Broker.send`. */
export async function send(
  dependencies: BrokerDependencies,
  storeSend: StoreSend,
  path: EntityPath,
  outgoing: readonly OutgoingMessage[],
  options: SendOptions = {},
): Promise<readonly SentMessage[]> {
  requireSendPath(path);
  const sendTo = async (to: Entity) => {
    const { settings, ...prepared } = await prepareMessages(dependencies, to, outgoing);
    // Only a MessageId from the sender is a key, not a generated one.
    const placementKey = partitionsOf(to) > 1 ? sharedPlacementKey(outgoing, settings) : undefined;
    const numbers = await storeSend({ entity: to, ...prepared, placementKey }, options);
    return prepared.messages.map((message) => sentMessage(message, numbers.get(message)));
  };
  let entity = await findEntity(dependencies, path);
  for (let reads = 1; ; reads++) {
    try {
      return await sendTo(entity);
    } catch (error) {
      // The entity was deleted, and possibly created again, since this process read it.
      if (!isNotFound(error)) throw error;
      dependencies.entities.forget(path.key);
      const current = await findEntity(dependencies, path);
      if (current.id === entity.id || reads >= ENTITY_READS_MAX) throw entityNotFound(path.name);
      entity = current;
    }
  }
}

function sentMessage({ messageId }: Message, sequenceNumber: bigint | undefined): SentMessage {
  return sequenceNumber === undefined ? { messageId } : { messageId, sequenceNumber };
}

/** Throws InvalidOperation for a path that messages cannot be sent to (semantics #C3, #31, M18). */
export function requireSendPath(path: EntityPath): void {
  if (path.subQueue !== 'main') {
    throw invalidOperation(
      'Messages cannot be sent to a dead-letter queue; only dead-lettering fills it.',
    );
  }
  if (path.subscription !== undefined) {
    throw notASender();
  }
}

function notASender(): BrokerError {
  return invalidOperation('Cannot create a message sender for a subscription.');
}

/**
 * Stores accepted messages of one send, or of several; `now` (epoch ms) decides which of them are scheduled. Throws
 * NoMatchingSubscription, MessageSizeExceeded, ServiceBusy, ServiceTimeout, MessagingEntityNotFound.
 */
export async function storeMessages(
  dependencies: BrokerDependencies,
  { entity, messages, detection, placementKey }: AcceptedMessages,
  now: number,
): Promise<SentNumbers> {
  const placement = placeFor(dependencies, entity, placementKey);
  const sending = { entity, placement, detection, now };
  const firsts = firstOccurrences(messages.map((message) => detection?.keys.get(message)));
  const distinct = messages.filter((_, i) => firsts[i] === i);
  const numbers = storesSentMessages(entity)
    ? await store(dependencies, sending, distinct, append)
    : await withCopyAccount(dependencies, (counting) => distribute(counting, sending, distinct));
  // A repeated message gets the answer of the first one.
  return new Map(
    messages.map((message, i) => [message, numbers.get(messages[firsts[i] ?? i] ?? message)]),
  );
}

/** Messages as an entity accepts them. */
export interface PreparedMessages {
  readonly messages: readonly Message[];
  readonly settings: IngressSettings;
  readonly detection: Detection | undefined;
}

/**
 * Checks messages of a sender and completes them. A full entity refuses them before any is known as a duplicate
 * (semantics O9). Throws as `send`.
 */
export async function prepareMessages(
  dependencies: BrokerDependencies,
  entity: Entity,
  outgoing: readonly OutgoingMessage[],
): Promise<PreparedMessages> {
  requireSendable(entity);
  const prepared = completeMessages(dependencies, entity, outgoing);
  await requireQuota(dependencies, entity, prepared.settings, prepared.messages);
  return prepared;
}

/** Checks and completes messages without a check of the entity's status and quota. Throws as `send`. */
export function completeMessages(
  dependencies: BrokerDependencies,
  entity: Entity,
  outgoing: readonly OutgoingMessage[],
): PreparedMessages {
  const { description } = entity;
  if (description.kind === 'subscription') throw notASender();
  if (description.kind === 'queue' && description.requiresSession) requireSessionIds(outgoing);
  requireSendableMessages(outgoing, description);
  const messages = withIdentity(dependencies.random, outgoing).map((message) =>
    capTimeToLive(message, description.defaultTimeToLiveMs),
  );
  const detection = detectionOf(entity, description, outgoing, messages);
  return { messages, settings: description, detection };
}

/** Whether an entity stores its messages itself, rather than forwarding them at once. */
export function storesSentMessages({ description }: Entity): boolean {
  return description.kind === 'queue' && description.forwardTo === undefined;
}

/**
 * Publishes the messages of a topic, or of a queue that forwards, at once. Scheduled messages wait in the entity, since
 * their destinations are decided when they come due (semantics F6, #66). Returns the numbers of the scheduled ones.
 */
async function distribute(
  dependencies: BrokerDependencies,
  sending: Sending,
  messages: readonly Message[],
): Promise<ReadonlyMap<Message, bigint | undefined>> {
  const { entity, now } = sending;
  const isLater = ({ scheduledEnqueueAt = 0 }: Message) => scheduledEnqueueAt > now;
  const later = messages.filter(isLater);
  const atOnce = messages.filter((message) => !isLater(message));
  // Permanent refusals come before any message of the batch is stored.
  if (later.length > 0 && atOnce.length > 0 && isOfKind(entity, 'topic')) {
    await requireRoutable(dependencies, entity, atOnce);
  }
  const scheduled = later.length === 0 ? NONE : await store(dependencies, sending, later, append);
  forwardWhenDue(dependencies, entity, scheduled);
  if (atOnce.length > 0) {
    const storing = store(dependencies, sending, atOnce, publish);
    await (later.length === 0 ? storing : storing.catch(storedInPart));
  }
  return scheduled;
}

const NONE: ReadonlyMap<Message, bigint | undefined> = new Map();

/** Has messages that wait in an entity that forwards go on when they come due, by their sequence numbers. */
function forwardWhenDue(
  { dueForwards }: Pick<BrokerDependencies, 'dueForwards'>,
  { id, key }: Entity,
  scheduled: SentNumbers,
): void {
  for (const [{ scheduledEnqueueAt }, number] of scheduled) {
    if (scheduledEnqueueAt === undefined || number === undefined) continue;
    const { partition } = splitSequenceNumber(number);
    dueForwards?.add({ id, key, partition }, scheduledEnqueueAt);
  }
}

/** Throws if a topic cannot route the messages. The room for their copies is kept for the send. */
async function requireRoutable(
  dependencies: BrokerDependencies,
  topic: Entity<TopicDescription>,
  messages: readonly Message[],
): Promise<void> {
  const { matched } = await matchArriving(dependencies, topic, messages, 'sent');
  dependencies.copies?.discard(matched.copies);
}

/** Throws ServiceTimeout instead of a refusal, because the scheduled messages of the batch are stored already. */
function storedInPart(cause: unknown): never {
  if (!(cause instanceof BrokerError)) throw cause;
  throw new BrokerError(
    'ServiceTimeout',
    'The scheduled messages of the batch are stored. It is not known whether the others are.',
    { cause, subCode: '50400' },
  );
}

/** Throws QuotaExceeded if the messages would exceed the size limit of the entity (semantics M18, #159). */
export async function requireQuota(
  dependencies: BrokerDependencies,
  entity: Entity,
  settings: IngressSettings,
  messages: readonly Message[],
): Promise<void> {
  const bytes = messages.reduce((sum, message) => sum + messageSize(message), 0);
  const limit = totalMegabytes(settings) * dependencies.limits.bytesPerMegabyte;
  const { fits, size } = await dependencies.messages.fitsQuota(entity, { bytes, limit });
  if (fits) return;
  const kind = entity.description.kind === 'topic' ? 'Topic' : 'Queue';
  throw new BrokerError(
    'QuotaExceeded',
    `The maximum entity size has been reached or exceeded for ${kind}: '${entity.name}'. Size of entity in bytes:${size}, Max entity size in bytes:${limit}..`,
    { subCode: '40300' },
  );
}

const ID_PREFIX_BYTES = 12;

/**
 * Gives each message without a MessageId one of 32 hex digits (semantics #20). Those of a batch share their random part
 * and are numbered, which compresses well.
 */
function withIdentity(random: RandomSource, outgoing: readonly OutgoingMessage[]): Message[] {
  let prefix: string | undefined;
  return outgoing.map((message, i) => {
    if (message.messageId !== undefined) return { ...message, messageId: message.messageId };
    prefix ??= hex(random.bytes(ID_PREFIX_BYTES));
    return { ...message, messageId: prefix + i.toString(16).padStart(8, '0') };
  });
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
