import { sequenceNumberOf } from '../../domain/blocks/block.ts';
import { type Log, logOf, logOfSession } from '../../domain/blocks/log.ts';
import { invalidOperation } from '../../domain/broker-error.ts';
import type {
  QueueDescription,
  SubscriptionDescription,
  TopicDescription,
} from '../../domain/entities/descriptions.ts';
import { type Entity, isOfKind, partitionsOf } from '../../domain/entities/entity.ts';
import { parseEntityPath } from '../../domain/entities/entity-path.ts';
import { groupBy } from '../../domain/group-by.ts';
import {
  type DeadLetterReason,
  SESSION_ID_IS_NULL,
} from '../../domain/messages/dead-letter-reasons.ts';
import type { Message } from '../../domain/messages/message.ts';
import { messageSize } from '../../domain/messages/outgoing-rules.ts';
import { partitionOfKey } from '../../domain/messages/partition.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { ENTITY_READS_MAX, isNotFound } from '../entity-lookup.ts';
import type { Copy, LogBatch } from '../ports/publication.ts';
import { countingAttempt } from './copy-account.ts';
import { type Arrival, type MatchedSubscription, matchArriving } from './match-subscriptions.ts';
import { notFound, obstacleAt, obstacleFor, withReason } from './obstacles.ts';
import { type Placement, placeAfter, placesFor } from './placement.ts';

/**
 * Routes messages: returns one batch for each log that gets some. Forwarding is followed at once, so nothing is stored
 * on the way; each entity on the way gives the message a sequence number (semantics #121) in one of its own partitions.
 * Messages that stay in the entity itself or in its subscriptions go to `partition`.
 */
export async function route(
  dependencies: BrokerDependencies,
  entity: Entity,
  messages: readonly Message[],
  how: Arrival,
  partition: number,
): Promise<readonly LogBatch[]> {
  if (isOfKind(entity, 'topic'))
    return await routeTopic(dependencies, entity, messages, how, partition);
  if (isOfKind(entity, 'queue')) return await routeQueue(dependencies, entity, messages, partition);
  throw invalidOperation('Messages reach a subscription through its topic only.');
}

async function routeQueue(
  dependencies: BrokerDependencies,
  queue: Entity<QueueDescription>,
  messages: readonly Message[],
  partition: number,
): Promise<readonly LogBatch[]> {
  const log = logOf(queue, 'main', partition);
  const first = await dependencies.messages.takeNumbers(log, messages, messages.length);
  const copies = messages.map((message, i) => ({ sequence: first + BigInt(i), message }));
  return await arrive(dependencies, queue, copies, partition);
}

/** Matches messages as they arrive, with the changes of earlier rules (semantics F7, R27). */
async function routeTopic(
  dependencies: BrokerDependencies,
  topic: Entity<TopicDescription>,
  arriving: readonly Message[],
  how: Arrival,
  partition: number,
): Promise<readonly LogBatch[]> {
  const { messages, matched } = await matchArriving(dependencies, topic, arriving, how);
  const log = logOf(topic, 'main', partition);
  const first = await dependencies.messages.takeNumbers(log, messages, matched.numbers);
  const routing: Promise<readonly LogBatch[]>[] = [];
  let copies = 0;
  for (const subscription of matched.subscriptions) {
    if (copies >= COPIES_PER_TURN) {
      copies = 0;
      await dependencies.workTurns.next(routing);
    }
    copies += subscription.copies.length + subscription.failures.length;
    const routed = batchesFor(dependencies, subscription, first, partition);
    // A failure is thrown below, once all have started.
    routed.catch(() => {});
    routing.push(routed);
  }
  return (await Promise.all(routing)).flat();
}

/** How many copies are routed in one turn. */
const COPIES_PER_TURN = 1000;

async function batchesFor(
  dependencies: BrokerDependencies,
  { entity, copies, failures }: MatchedSubscription,
  first: bigint,
  partition: number,
): Promise<readonly LogBatch[]> {
  const ofSubscription = (ones: readonly Copy[]) => ones.map((copy) => numbered(copy, first));
  return [
    ...(await arrive(dependencies, entity, ofSubscription(copies), partition)),
    ...(await deadLetter(dependencies, entity, ofSubscription(failures), partition)),
  ];
}

function numbered({ sequence, message }: Copy, first: bigint): Copy {
  return { sequence: first + sequence, message };
}

/** Routes messages that arrive at a queue or subscription: they stay, or are forwarded. */
async function arrive(
  dependencies: BrokerDependencies,
  entity: Entity<QueueDescription | SubscriptionDescription>,
  copies: readonly Copy[],
  partition: number,
): Promise<readonly LogBatch[]> {
  if (copies.length === 0) return [];
  const { forwardTo, requiresSession, defaultTimeToLiveMs } = entity.description;
  if (forwardTo !== undefined) {
    return await forward(dependencies, entity, forwardTo, copies, partition);
  }
  // The sender is not refused, nor is a forward (semantics #40, F9).
  const isRefused = ({ message }: Copy) => requiresSession && message.sessionId === undefined;
  const kept = copies.filter((copy) => !isRefused(copy));
  const refused = copies.filter(isRefused).map((copy) => dead(copy, SESSION_ID_IS_NULL));
  return [
    ...(kept.length === 0
      ? []
      : (await bySession(dependencies, logOf(entity, 'main', partition), kept, entity)).map(
          (batch) => ({
            ...batch,
            ...(defaultTimeToLiveMs === undefined ? {} : { timeToLiveMsMax: defaultTimeToLiveMs }),
          }),
        )),
    ...(await deadLetter(dependencies, entity, refused, partition)),
  ];
}

/** Divides messages by session: each session is a log of its own, in the partition of its id. */
async function bySession(
  dependencies: BrokerDependencies,
  log: Log,
  copies: readonly Copy[],
  entity: Entity,
): Promise<readonly LogBatch[]> {
  if (log.sessions === undefined) return [{ to: log, copies }];
  const sessions = groupBy(copies, ({ message: { sessionId = '' } }) => sessionId);
  const stay: LogBatch[] = [];
  const move: Promise<LogBatch>[] = [];
  for (const [id, ofSession] of sessions) {
    const to = logOfSession({ ...log, partition: partitionOfKey(id, partitionsOf(entity)) }, id);
    if (to.partition === log.partition) stay.push({ to, copies: ofSession });
    else move.push(numberedAnew(dependencies, to, ofSession));
  }
  return [...stay, ...(await Promise.all(move))];
}

/** Numbers messages again in the partition of a session that a rule's action gave them. */
async function numberedAnew(
  dependencies: BrokerDependencies,
  to: Log,
  copies: readonly Copy[],
): Promise<LogBatch> {
  const messages = copies.map(({ message }) => message);
  const first = await dependencies.messages.takeNumbers(to, messages, messages.length);
  return { to, copies: messages.map((message, i) => ({ sequence: first + BigInt(i), message })) };
}

/** Routes dead letters: they stay in the dead-letter queue, or are forwarded. */
async function deadLetter(
  dependencies: BrokerDependencies,
  entity: Entity<QueueDescription | SubscriptionDescription>,
  copies: readonly Copy[],
  partition: number,
): Promise<readonly LogBatch[]> {
  const { forwardDeadLetteredMessagesTo: destination } = entity.description;
  if (destination === undefined || copies.length === 0) {
    return deadLettered(logOf(entity, 'deadLetter', partition), copies);
  }
  const leaving = copies.map((copy) => withSource(copy, entity));
  return await forward(dependencies, entity, destination, leaving, partition);
}

/** Adds its source to a dead letter that leaves its entity. */
export function withSource({ sequence, message }: Copy, { name }: Entity): Copy {
  return { sequence, message: { ...message, deadLetterSource: name } };
}

/**
 * Forwards messages to another entity. If that is not possible, they go to the transfer dead-letter queue of their
 * entity (semantics #123, #C12, D5), in `partition`.
 */
export async function forward(
  dependencies: BrokerDependencies,
  source: Entity,
  destination: string,
  copies: readonly Copy[],
  partition: number,
): Promise<readonly LogBatch[]> {
  const { entities } = dependencies;
  const { key } = parseEntityPath(destination);
  for (let reads = 1; ; reads++) {
    const target = await entities.find(key);
    try {
      return await countingAttempt(dependencies, (counting) =>
        forwardTo(counting, source, { destination, target }, copies, partition),
      );
    } catch (error) {
      if (!isNotFound(error) || target === undefined || reads >= ENTITY_READS_MAX) throw error;
      // It was deleted, and possibly created again, since this process read it. Only numbers were taken.
      entities.forget(key);
      if ((await entities.find(key))?.id === target.id) throw error;
    }
  }
}

/** Forwards messages to an entity as it was read; undefined = there is none. Throws MessagingEntityNotFound. */
async function forwardTo(
  dependencies: BrokerDependencies,
  source: Entity,
  { destination, target }: { readonly destination: string; readonly target: Entity | undefined },
  copies: readonly Copy[],
  partition: number,
): Promise<readonly LogBatch[]> {
  // Each message is forwarded by itself, though those of several senders may be at hand together.
  const largest = Math.max(0, ...copies.map(({ message }) => messageSize(message)));
  const obstacle =
    target === undefined ? notFound(destination) : await obstacleAt(dependencies, target, largest);
  const lost: Copy[] = [];
  const onward: Message[] = [];
  for (const copy of copies) {
    const reason = obstacle ?? obstacleFor(copy.message);
    if (reason === undefined) onward.push(withNextHop(copy, partition));
    else lost.push(dead(copy, reason));
  }
  const arrived = target === undefined ? [] : await enter(dependencies, target, onward);
  return [...arrived, ...deadLettered(logOf(source, 'transferDeadLetter', partition), lost)];
}

/** Routes forwarded messages, whose own keys decide their partitions, and so their order (semantics #P11, F10). */
export async function enter(
  dependencies: BrokerDependencies,
  target: Entity,
  messages: readonly Message[],
): Promise<readonly LogBatch[]> {
  const arrived = await Promise.all(
    placesFor(dependencies, target, messages).map(({ placement, messages: together }) =>
      enterAt(dependencies, target, placement, together),
    ),
  );
  return arrived.flat();
}

/** Routes messages to a partition; if it fails, to another one, at most as often as `placeAfter` allows. */
async function enterAt(
  dependencies: BrokerDependencies,
  target: Entity,
  first: Placement,
  messages: readonly Message[],
): Promise<readonly LogBatch[]> {
  let placement = first;
  for (;;) {
    try {
      return await countingAttempt(dependencies, (counting) =>
        route(counting, target, messages, 'forwarded', placement.partition),
      );
    } catch (error) {
      placement = placeAfter(dependencies, target, placement, error);
    }
  }
}

/** The whole message (semantics F4), with the number of its first entity and one more hop. Hops are limited. */
function withNextHop({ sequence, message }: Copy, partition: number): Message {
  return {
    ...message,
    enqueuedSequenceNumber: message.enqueuedSequenceNumber ?? sequenceNumberOf(partition, sequence),
    hops: (message.hops ?? 0) + 1,
  };
}

function dead({ sequence, message }: Copy, reason: DeadLetterReason): Copy {
  return { sequence, message: withReason(message, reason) };
}

function deadLettered(to: Log, copies: readonly Copy[]): readonly LogBatch[] {
  return copies.length === 0 ? [] : [{ to, copies }];
}
