import { type Log, logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError, serviceBusy } from '../../domain/broker-error.ts';
import { type Entity, forwardsAnything, partitionNumbers } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { Copy, StoredBatch } from '../ports/publication.ts';
import { forward, route, withSource } from './route.ts';

/**
 * Forwards the messages that wait in an entity: due scheduled messages of a topic, messages that were stored before the
 * entity had ForwardTo, and dead letters of an entity with ForwardDeadLetteredMessagesTo. Each batch is one transaction
 * with the copies that it becomes (semantics F5).
 */
export async function forwardPending(
  dependencies: BrokerDependencies,
  entity: Entity,
  partitions: readonly number[],
): Promise<void> {
  const failures: unknown[] = [];
  for (const partition of partitions) {
    // A failure in one partition must not stop the others.
    try {
      await forwardPendingIn(dependencies, entity, partition);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function forwardPendingIn(
  dependencies: BrokerDependencies,
  entity: Entity,
  partition: number,
): Promise<void> {
  const { description } = entity;
  if (description.kind === 'topic') {
    await forwardDue(dependencies, entity, partition);
    return;
  }
  const { forwardTo, forwardDeadLetteredMessagesTo } = description;
  const source: Receivable = { ...entity, description };
  const main = logOf(entity, 'main', partition);
  if (forwardTo !== undefined) {
    const send = forwarderTo(dependencies, main, entity, ['forwardTo', forwardTo], (copy) => copy);
    const policy = policyOf(source, 'main', partition);
    // First what is active: a peek may have made it so when it was due, and what is due now came later.
    const isMore = await dependencies.messages.forwardAll(main, policy, send);
    if (isMore) dependencies.messages.leaveToSweep(main);
    else await dependencies.messages.forwardDue(main, send);
  }
  if (forwardDeadLetteredMessagesTo !== undefined) {
    const log = logOf(entity, 'deadLetter', partition);
    const policy = policyOf(source, 'deadLetter', partition);
    const send = forwarderTo(
      dependencies,
      main,
      entity,
      ['forwardDeadLetteredMessagesTo', forwardDeadLetteredMessagesTo],
      (copy) => withSource(copy, entity),
    );
    const isMore = await dependencies.messages.forwardAll(log, policy, send);
    if (isMore) dependencies.messages.leaveToSweep(main);
  }
}

/**
 * Forwards the messages that an operation left in an entity that forwards. The operation is done already, so a failure
 * is left to the sweep.
 */
export async function tryForward(
  dependencies: BrokerDependencies,
  entity: Entity,
  partitions: readonly number[],
): Promise<void> {
  if (!forwardsAnything(entity)) return;
  for (const partition of partitions) {
    try {
      await forwardPending(dependencies, entity, [partition]);
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      dependencies.messages.leaveToSweep(logOf(entity, 'main', partition));
    }
  }
}

/**
 * Forwards the messages of an entity whose ForwardTo was just set. The sweep continues if there are more than this
 * process can forward.
 */
export async function beginForwarding(
  dependencies: BrokerDependencies,
  entity: Entity,
): Promise<void> {
  if (!forwardsAnything(entity)) return;
  const partitions = partitionNumbers(entity);
  for (const partition of partitions) {
    dependencies.messages.leaveToSweep(logOf(entity, 'main', partition));
  }
  await tryForward(dependencies, entity, partitions);
}

/**
 * Forwards due scheduled messages of a topic: its rules decide now (semantics #66), and the copies stay in the same
 * partition.
 */
export async function forwardDue(
  dependencies: BrokerDependencies,
  topic: Entity,
  partition: number,
): Promise<boolean> {
  const owner = logOf(topic, 'main', partition);
  return await dependencies.messages.forwardDue(owner, async ({ copies, enqueuedAt, source }) => {
    const messages = copies.map(({ message }) => message);
    const batches = await route(dependencies, topic, messages, 'forwarded', partition);
    await dependencies.messages.publish({ owner, batches, enqueuedAt, source });
  });
}

type ForwardSetting = 'forwardTo' | 'forwardDeadLetteredMessagesTo';

function forwarderTo(
  dependencies: BrokerDependencies,
  owner: Log,
  source: Entity,
  [setting, destination]: readonly [ForwardSetting, string],
  change: (copy: Copy) => Copy,
): (batch: StoredBatch) => Promise<void> {
  return async (batch) => {
    await requireForwarding(dependencies, source, setting, destination);
    const copies = batch.copies.map(change);
    const batches = await forward(dependencies, source, destination, copies, owner.partition);
    // The time to live counts anew at the destination (semantics V3).
    const enqueuedAt = dependencies.clock.now();
    await dependencies.messages.publish({ owner, batches, enqueuedAt, source: batch.source });
  };
}

/**
 * Throws ServiceBusy if an entity no longer forwards to this destination. The caller may have read the entity long ago:
 * before many messages, or before its process froze. Costs nothing while the process has a lease of the entity.
 */
async function requireForwarding(
  { entities }: BrokerDependencies,
  { id, key, name }: Entity,
  setting: ForwardSetting,
  destination: string,
): Promise<void> {
  const current = await entities.find(key);
  const description = current?.id === id ? current.description : undefined;
  const isSame =
    description !== undefined &&
    description.kind !== 'topic' &&
    description[setting] === destination;
  if (isSame) return;
  throw serviceBusy(`The forwarding of '${name}' was changed meanwhile.`);
}

/**
 * Forwards due scheduled messages of the topic above a subscription, before the subscription is read. Returns when the
 * next one comes due, as far as this process knows, epoch ms; Infinity = none is known.
 */
export async function forwardTopicDue(
  dependencies: BrokerDependencies,
  path: EntityPath,
  partition: number,
): Promise<number> {
  if (path.subscription === undefined) return Number.POSITIVE_INFINITY;
  const topic = await dependencies.entities.find(path.subscription.topic.toLowerCase());
  if (topic === undefined) return Number.POSITIVE_INFINITY;
  await forwardDue(dependencies, topic, partition);
  return dependencies.messages.nextDueAt(logOf(topic, 'main', partition));
}
