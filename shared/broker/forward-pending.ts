import { BrokerError } from '../domain/broker-error.ts';
import { type Entity, forwards } from '../domain/entity.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { logOf } from '../domain/log.ts';
import { policyOf, type Receivable } from '../domain/log-policy.ts';
import type { BrokerParts } from './broker-parts.ts';
import type { Copy, StoredBatch } from './ports.ts';
import { forward, route, withSource } from './route.ts';

/**
 * Sends on what waits in an entity: scheduled messages of a topic that have come due, messages that
 * were there before an entity forwarded, and dead letters of one that forwards those. Each batch goes
 * in one transaction with what it becomes (semantics §7).
 */
export async function forwardPending(parts: BrokerParts, entity: Entity): Promise<void> {
  const { description } = entity;
  if (description.kind === 'topic') {
    await forwardDue(parts, entity);
    return;
  }
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  const source: Receivable = { ...entity, description };
  if (forwardTo !== undefined) {
    const send = sendingOn(parts, entity, forwardTo, (copy) => copy);
    const log = logOf(entity, 'main', 0);
    await parts.messages.forwardDue(log, send);
    const isMore = await parts.messages.forwardAll(log, policyOf(source, 'main', 0), send);
    if (isMore) parts.messages.leaveToSweep(log);
  }
  if (forwardDeadLetteredMessagesTo !== undefined) {
    const log = logOf(entity, 'deadLetter', 0);
    const policy = policyOf(source, 'deadLetter', 0);
    const send = sendingOn(parts, entity, forwardDeadLetteredMessagesTo, (copy) =>
      withSource(copy, entity),
    );
    const isMore = await parts.messages.forwardAll(log, policy, send);
    if (isMore) parts.messages.leaveToSweep(logOf(entity, 'main', 0));
  }
}

/**
 * Sends on what an operation left in an entity that forwards. The operation is done, whatever becomes
 * of this: what fails is left to the sweep.
 */
export async function sendOn(parts: BrokerParts, entity: Entity): Promise<void> {
  if (!forwards(entity)) return;
  try {
    await forwardPending(parts, entity);
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    parts.messages.leaveToSweep(logOf(entity, 'main', 0));
  }
}

/**
 * Sends on what lies in an entity that has just begun to forward. There may be more of it than this
 * process lives for: the sweep goes on.
 */
export async function beginForwarding(parts: BrokerParts, entity: Entity): Promise<void> {
  if (!forwards(entity)) return;
  parts.messages.leaveToSweep(logOf(entity, 'main', 0));
  await sendOn(parts, entity);
}

/** The scheduled messages of a topic meet its rules as they come due. */
export async function forwardDue(parts: BrokerParts, topic: Entity): Promise<boolean> {
  const owner = logOf(topic, 'main', 0);
  return await parts.messages.forwardDue(owner, async (batch) => {
    const messages = batch.copies.map(({ message }) => message);
    const deliveries = await route(parts, topic, messages, 'forwarded');
    const { enqueuedAt } = batch;
    await parts.messages.publish({ owner, deliveries, enqueuedAt, instead: batch });
  });
}

function sendingOn(
  parts: BrokerParts,
  source: Entity,
  destination: string,
  change: (copy: Copy) => Copy,
): (batch: StoredBatch) => Promise<void> {
  return async (batch) => {
    const deliveries = await forward(parts, source, destination, batch.copies.map(change));
    await parts.messages.publish({
      owner: logOf(source, 'main', 0),
      deliveries,
      enqueuedAt: parts.clock.now(),
      instead: batch,
    });
  };
}

/** A subscription gets its topic's scheduled messages when they come due. */
export async function forwardTopicDue(parts: BrokerParts, path: EntityPath): Promise<void> {
  if (path.subscription === undefined) return;
  const topic = await parts.entities.find(path.subscription.topic.toLowerCase());
  if (topic !== undefined) await forwardDue(parts, topic);
}
