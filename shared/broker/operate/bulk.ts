import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError, entityNotFound, invalidOperation } from '../../domain/broker-error.ts';
import { countDone } from '../../domain/count-done.ts';
import { partitionNumbers, partitionsOf } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import type { DeleteOptions, ResubmitOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable, requireQueueOrSubscription, requireSendable } from '../entity-lookup.ts';
import { tryForward } from '../routing/forward-pending.ts';
import { requireSendPath } from '../send/send.ts';
import { requireSessionFits, sessionLog, sessionPolicy } from '../sessions/session-operations.ts';
import { resubmitTo, sequencesIn } from './resubmission.ts';
import { resubmitElsewhere } from './resubmit-elsewhere.ts';
import { onward } from './resubmit-onward.ts';

/** Operations on many messages at once. */

/** Removes old messages; see `Broker.deleteMessages`. */
export async function deleteMessages(
  dependencies: BrokerDependencies,
  path: EntityPath,
  { sessionId, ...request }: DeleteOptions,
): Promise<number> {
  const entity = await findReceivable(dependencies, path);
  requireSessionFits(entity, path, sessionId);
  // The one operation that partitioned entities do not have (semantics #P1).
  if (partitionsOf(entity) > 1) {
    throw invalidOperation(
      `Batch delete is not supported for an entity with partitioning enabled; '${path.name}' is one.`,
    );
  }
  if (sessionId !== undefined) {
    const log = sessionLog(entity, sessionId);
    const lock = await dependencies.sessions.lockState(log);
    return await dependencies.messages.removeBefore(log, request, sessionPolicy(entity, log, lock));
  }
  const policy = policyOf(entity, path.subQueue, 0);
  return await dependencies.messages.removeBefore(logOf(entity, path.subQueue, 0), request, policy);
}

/** Sends dead letters to the main queue again, or to another entity; see `Broker.resubmit`. */
export async function resubmit(
  dependencies: BrokerDependencies,
  path: EntityPath,
  options: ResubmitOptions,
): Promise<number> {
  if (path.subQueue === 'main') {
    throw invalidOperation(
      `Only messages of a dead-letter queue can be resubmitted; '${path.name}' is none.`,
    );
  }
  const entity = await findReceivable(dependencies, path);
  const { to } = options;
  if (to !== undefined && to.key !== path.key) {
    return await resubmitElsewhere(dependencies, entity, path.subQueue, { ...options, to });
  }
  if (to !== undefined) requireSendPath(to);
  requireSendable(entity);
  const { forwardTo } = entity.description;
  const resubmitted =
    forwardTo === undefined
      ? await countDone(resubmissions(dependencies, entity, path, options))
      : await resubmitTo(dependencies, entity, path.subQueue, options, onward(entity, forwardTo));
  await tryForward(dependencies, entity, partitionNumbers(entity));
  return resubmitted;
}

/** Resubmits from one partition after the other, to the same one, where a message's key belongs; yields how many. */
async function* resubmissions(
  { messages }: BrokerDependencies,
  entity: Receivable,
  { subQueue }: EntityPath,
  { maxMessages, sequenceNumbers }: ResubmitOptions,
): AsyncGenerator<number> {
  let left = maxMessages;
  for (const partition of partitionNumbers(entity)) {
    if (left <= 0) break;
    const sequences = sequenceNumbers && sequencesIn(sequenceNumbers, partition);
    if (sequences?.size === 0) continue;
    const { rules } = policyOf(entity, 'main', partition);
    const count = await messages.resubmit(
      logOf(entity, subQueue, partition),
      logOf(entity, 'main', partition),
      {
        maxMessages: left,
        timeToLiveMsMax: rules.defaultTimeToLiveMs,
        ...(sequences && { sequences }),
      },
      policyOf(entity, subQueue, partition),
    );
    left -= count;
    yield count;
  }
}

/** Tries while other processes purge or change the same entity. */
const PURGE_TRIES_MAX = 10;

/** Empties a sub-queue (semantics L15); see `Broker.purge`. */
export async function purge(dependencies: BrokerDependencies, path: EntityPath): Promise<void> {
  await findReceivable(dependencies, path);
  for (let tries = 1; ; tries++) {
    // Another process may have deleted or replaced the entity that this one remembers.
    const current = await dependencies.entities.read(path.key);
    if (current === undefined) throw entityNotFound(path.name);
    requireQueueOrSubscription(current);
    try {
      await dependencies.entities.purge(current, path.subQueue, dependencies.clock.now());
      return;
    } catch (error) {
      const isConflict = error instanceof BrokerError && error.code === 'ConflictInProgress';
      if (!isConflict || tries >= PURGE_TRIES_MAX) throw error;
    }
  }
}
