import { BrokerError, entityNotFound } from '../../domain/broker-error.ts';
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
import { sharedPartitionKey } from '../../domain/messages/partition.ts';
import type { SentMessage } from '../broker.ts';
import type { BrokerParts } from '../dependencies.ts';
import { findEntity, requireSendable } from '../entity-lookup.ts';
import { countingCopies } from '../routing/copy-account.ts';
import { matchArriving } from '../routing/match-subscriptions.ts';
import { placeFor } from '../routing/placement.ts';
import { type Detection, detectionOf } from './deduplication.ts';
import { append, publish, type Sending, store } from './store.ts';

/** Sends one message or a batch; see `Broker.send`. */
export async function send(
  parts: BrokerParts,
  path: EntityPath,
  outgoing: readonly OutgoingMessage[],
): Promise<readonly SentMessage[]> {
  requireSendPath(path);
  const entity = await findEntity(parts, path);
  try {
    return await sendTo(parts, entity, outgoing);
  } catch (error) {
    // The entity was deleted, and perhaps created anew, since this process last read it.
    if (!(error instanceof BrokerError) || error.code !== 'MessagingEntityNotFound') throw error;
    parts.entities.forget(path.key);
    const current = await findEntity(parts, path);
    if (current.id === entity.id) throw entityNotFound(path.name);
    return await sendTo(parts, current, outgoing);
  }
}

/** Refuses a path to which nothing can be sent. Throws InvalidOperation. */
export function requireSendPath(path: EntityPath): void {
  if (path.subQueue !== 'main') {
    throw new BrokerError(
      'InvalidOperation',
      'Messages cannot be sent to a dead-letter queue; only dead-lettering fills it.',
    );
  }
  if (path.subscription !== undefined) {
    throw notASender();
  }
}

function notASender(): BrokerError {
  return new BrokerError('InvalidOperation', 'Cannot create a message sender for a subscription.');
}

async function sendTo(
  parts: BrokerParts,
  entity: Entity,
  outgoing: readonly OutgoingMessage[],
): Promise<readonly SentMessage[]> {
  const { messages, detection, settings } = await admit(parts, entity, outgoing);
  // By what the sender said: a MessageId that it did not choose is no key.
  const key = partitionsOf(entity) > 1 ? sharedPartitionKey(outgoing, settings) : undefined;
  const place = placeFor(parts, entity, key);
  const sending = { entity, place, detection, now: parts.clock.now() };
  const firsts = firstOccurrences(messages.map((message) => detection?.keys.get(message)));
  const once = messages.filter((_, i) => firsts[i] === i);
  const numbers = staysHere(entity)
    ? await store(parts, sending, once, append)
    : await countingCopies(parts, (counting) => distribute(counting, sending, once));
  return messages.map((message, i) => {
    // A message that the batch repeats is answered like the first of its kind.
    const sequenceNumber = numbers.get(messages[firsts[i] ?? i] ?? message);
    const { messageId } = message;
    return sequenceNumber === undefined ? { messageId } : { messageId, sequenceNumber };
  });
}

/** What an entity takes from a sender. */
export interface Admitted {
  readonly messages: readonly Message[];
  readonly settings: IngressSettings;
  readonly detection: Detection | undefined;
}

/** Messages as an entity takes them from a sender; what it does not take is refused as `send` says. */
export async function admit(
  parts: BrokerParts,
  entity: Entity,
  outgoing: readonly OutgoingMessage[],
): Promise<Admitted> {
  requireSendable(entity);
  const admitted = asTaken(parts, entity, outgoing);
  await requireRoom(parts, entity, admitted.settings, admitted.messages);
  return admitted;
}

/** Messages as an entity would take them, were it open and had it room for them. */
export function asTaken(
  parts: BrokerParts,
  entity: Entity,
  outgoing: readonly OutgoingMessage[],
): Admitted {
  const { description } = entity;
  if (description.kind === 'subscription') throw notASender();
  if (description.kind === 'queue' && description.requiresSession) requireSessionIds(outgoing);
  requireSendableMessages(outgoing, description);
  const messages = withIdentity(parts.random, outgoing).map((message) =>
    capTimeToLive(message, description.defaultTimeToLiveMs),
  );
  const detection = detectionOf(entity, description, outgoing, messages);
  return { messages, settings: description, detection };
}

/** Whether what is sent to an entity is stored in it; otherwise it goes on at once. */
export function staysHere({ description }: Entity): boolean {
  return description.kind === 'queue' && description.forwardTo === undefined;
}

/**
 * Messages of a topic, or of a queue that forwards, go on at once. Those that are scheduled wait
 * here: where they go is decided when they come due. Returns the numbers of these.
 */
async function distribute(
  parts: BrokerParts,
  sending: Sending,
  messages: readonly Message[],
): Promise<ReadonlyMap<Message, bigint | undefined>> {
  const { entity, now } = sending;
  const isLater = ({ scheduledEnqueueAt = 0 }: Message) => scheduledEnqueueAt > now;
  const later = messages.filter(isLater);
  const atOnce = messages.filter((message) => !isLater(message));
  // What is refused for good is refused before anything of the same batch is stored.
  if (later.length > 0 && atOnce.length > 0 && isOfKind(entity, 'topic')) {
    await requireRoutable(parts, entity, atOnce);
  }
  const scheduled = later.length === 0 ? NONE : await store(parts, sending, later, append);
  if (atOnce.length > 0) {
    const storing = store(parts, sending, atOnce, publish);
    await (later.length === 0 ? storing : storing.catch(storedInPart));
  }
  return scheduled;
}

const NONE: ReadonlyMap<Message, bigint | undefined> = new Map();

/** Refuses what a topic cannot route. The room for its copies is kept until they are made again. */
async function requireRoutable(
  parts: BrokerParts,
  topic: Entity<TopicDescription>,
  messages: readonly Message[],
): Promise<void> {
  const { matched } = await matchArriving(parts, topic, messages, 'sent');
  parts.copies?.discard(matched.copies);
}

/** A refusal would tell that nothing was stored; the scheduled messages of the same batch were. */
function storedInPart(cause: unknown): never {
  if (!(cause instanceof BrokerError)) throw cause;
  throw new BrokerError(
    'ServiceTimeout',
    'Only the scheduled messages of the batch are surely stored; whether the others are is not known.',
    { cause, subCode: '50400' },
  );
}

/** Refuses what would make the entity larger than it may be. Throws QuotaExceeded. */
async function requireRoom(
  parts: BrokerParts,
  entity: Entity,
  settings: IngressSettings,
  messages: readonly Message[],
): Promise<void> {
  const bytes = messages.reduce((sum, message) => sum + messageSize(message), 0);
  const limit = totalMegabytes(settings) * parts.limits.bytesPerMegabyte;
  const { isRoom, size } = await parts.messages.hasRoom(entity, { bytes, limit });
  if (isRoom) return;
  const kind = entity.description.kind === 'topic' ? 'Topic' : 'Queue';
  throw new BrokerError(
    'QuotaExceeded',
    `The maximum entity size has been reached or exceeded for ${kind}: '${entity.name}'. Size of entity in bytes:${size}, Max entity size in bytes:${limit}..`,
    { subCode: '40300' },
  );
}

const ID_PREFIX_BYTES = 12;

/**
 * Gives each message without a MessageId one of 32 hex digits. Those of a batch share their
 * random part and are counted up, which makes them small once compressed.
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
