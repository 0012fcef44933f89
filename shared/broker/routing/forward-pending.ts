import { type Log, logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { type Entity, hasForwarding, partitionNumbers } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import type { BrokerParts } from '../dependencies.ts';
import type { Copy, StoredBatch } from '../ports/deliveries.ts';
import { forward, route, withSource } from './route.ts';

/**
 * Sends on what waits in an entity: scheduled messages of a topic that have come due, messages that
 * were there before an entity forwarded, and dead letters of one that forwards those. Each batch goes
 * in one transaction with what it becomes (semantics F5).
 */
export async function forwardPending(
  parts: BrokerParts,
  entity: Entity,
  partitions: readonly number[],
): Promise<void> {
  const failures: unknown[] = [];
  for (const partition of partitions) {
    // What fails in one partition must not keep the others waiting.
    try {
      await forwardPendingIn(parts, entity, partition);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function forwardPendingIn(
  parts: BrokerParts,
  entity: Entity,
  partition: number,
): Promise<void> {
  const { description } = entity;
  if (description.kind === 'topic') {
    await forwardDue(parts, entity, partition);
    return;
  }
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  const source: Receivable = { ...entity, description };
  const main = logOf(entity, 'main', partition);
  if (forwardTo !== undefined) {
    const send = sendingOn(parts, main, entity, forwardTo, (copy) => copy);
    await parts.messages.forwardDue(main, send);
    const isMore = await parts.messages.forwardAll(main, policyOf(source, 'main', partition), send);
    if (isMore) parts.messages.leaveToSweep(main);
  }
  if (forwardDeadLetteredMessagesTo !== undefined) {
    const log = logOf(entity, 'deadLetter', partition);
    const policy = policyOf(source, 'deadLetter', partition);
    const send = sendingOn(parts, main, entity, forwardDeadLetteredMessagesTo, (copy) =>
      withSource(copy, entity),
    );
    const isMore = await parts.messages.forwardAll(log, policy, send);
    if (isMore) parts.messages.leaveToSweep(main);
  }
}

/**
 * Sends on what an operation left in an entity that forwards. The operation is done, whatever becomes
 * of this: what fails is left to the sweep.
 */
export async function sendOn(
  parts: BrokerParts,
  entity: Entity,
  partitions: readonly number[],
): Promise<void> {
  if (!hasForwarding(entity)) return;
  for (const partition of partitions) {
    try {
      await forwardPending(parts, entity, [partition]);
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      parts.messages.leaveToSweep(logOf(entity, 'main', partition));
    }
  }
}

/**
 * Sends on what lies in an entity that has just begun to forward. There may be more of it than this
 * process lives for: the sweep goes on.
 */
export async function beginForwarding(parts: BrokerParts, entity: Entity): Promise<void> {
  if (!hasForwarding(entity)) return;
  const partitions = partitionNumbers(entity);
  for (const partition of partitions) {
    parts.messages.leaveToSweep(logOf(entity, 'main', partition));
  }
  await sendOn(parts, entity, partitions);
}

/** The scheduled messages of a topic meet its rules as they come due, and stay in their partition. */
export async function forwardDue(
  parts: BrokerParts,
  topic: Entity,
  partition: number,
): Promise<boolean> {
  const owner = logOf(topic, 'main', partition);
  return await parts.messages.forwardDue(owner, async ({ copies, enqueuedAt, source }) => {
    const messages = copies.map(({ message }) => message);
    const deliveries = await route(parts, topic, messages, 'forwarded', partition);
    await parts.messages.publish({ owner, deliveries, enqueuedAt, source });
  });
}

function sendingOn(
  parts: BrokerParts,
  owner: Log,
  source: Entity,
  destination: string,
  change: (copy: Copy) => Copy,
): (batch: StoredBatch) => Promise<void> {
  return async (batch) => {
    const copies = batch.copies.map(change);
    const deliveries = await forward(parts, source, destination, copies, owner.partition);
    const enqueuedAt = parts.clock.now();
    await parts.messages.publish({ owner, deliveries, enqueuedAt, source: batch.source });
  };
}

/** A subscription gets its topic's scheduled messages when they come due. */
export async function forwardTopicDue(
  parts: BrokerParts,
  path: EntityPath,
  partition: number,
): Promise<void> {
  if (path.subscription === undefined) return;
  const topic = await parts.entities.find(path.subscription.topic.toLowerCase());
  if (topic !== undefined) await forwardDue(parts, topic, partition);
}
