import { logOf } from '../../domain/blocks/log.ts';
import { isBusy } from '../../domain/broker-error.ts';
import { partitionNumbers } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import type { ReceivedMessage, ReceiveOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable, requireNotForwarding, requireReceivable } from '../entity-lookup.ts';
import { tryForward } from '../routing/forward-pending.ts';
import { receiveInSession, requireSessionFits } from '../sessions/session-operations.ts';
import { deadLetterLapsed } from './dead-letter-lapsed.ts';
import { PartitionedReceive } from './partitioned-receive.ts';
import { ReceiveWait } from './receive-wait.ts';

/** How often a receive that waits on a dead-letter queue looks for new dead letters in the main queue. */
const DEAD_LETTER_CHECK_MS = 5000;
/** How long a waiting receive pauses when the service is busy; twice as long each time. */
const BUSY_PAUSE_MS = { first: 100, most: 2000 };

/** Receives messages, and waits for the first one if asked to; see `Broker.receive`. */
export async function receive(
  dependencies: BrokerDependencies,
  path: EntityPath,
  options: ReceiveOptions,
): Promise<readonly ReceivedMessage[]> {
  const { session } = options;
  if (session !== undefined) return await receiveInSession(dependencies, path, options, session);
  const wait = new ReceiveWait(dependencies, options.waitMs, options.signal);
  try {
    return await lookAndWait(dependencies, path, options, wait);
  } finally {
    wait.end();
  }
}

async function lookAndWait(
  dependencies: BrokerDependencies,
  path: EntityPath,
  options: ReceiveOptions,
  wait: ReceiveWait,
): Promise<readonly ReceivedMessage[]> {
  const partitions = new PartitionedReceive(dependencies, path, options);
  let checkAgainAt = 0;
  let busyMs = BUSY_PAUSE_MS.first;
  for (let looks = 0; !wait.isAborted; looks++) {
    // Read again after each wait: the entity may have been changed, disabled or deleted meanwhile.
    const entity = await findReceivable(dependencies, path);
    requireReceivable(entity);
    requireNotForwarding(entity, path.subQueue);
    requireSessionFits(entity, path, undefined);
    const logs = partitionNumbers(entity).map((number) => logOf(entity, path.subQueue, number));
    const isLast = !wait.listen(logs);
    await options.beforeAttempt?.();
    // The caller may have aborted meanwhile; then nothing may be claimed.
    if (wait.isAborted) break;
    // The first and the last look ask all partitions; those in between ask some, round robin.
    const which = looks === 0 || isLast ? 'all' : 'some';
    const looked = await orBusy(partitions.claim(entity, which), isLast);
    if (looked === 'busy') {
      options.onWait?.();
      await wait.pause([dependencies.clock.now() + busyMs]);
      busyMs = Math.min(BUSY_PAUSE_MS.most, 2 * busyMs);
      continue;
    }
    busyMs = BUSY_PAUSE_MS.first;
    let messages = looked;
    if (messages.length === 0 && dependencies.monotonicNow() >= checkAgainAt) {
      checkAgainAt = dependencies.monotonicNow() + DEAD_LETTER_CHECK_MS;
      const isMore = await deadLetterLapsed(dependencies, entity, path);
      if (isMore) messages = await partitions.claim(entity, 'all');
    }
    // The claim may have dead-lettered messages, which the entity may forward.
    if (entity.description.forwardDeadLetteredMessagesTo !== undefined) {
      await tryForward(dependencies, entity, partitions.asked);
    }
    // One message is enough: a receive does not wait for more (semantics #19).
    if (messages.length > 0 || isLast) return messages;
    options.onWait?.();
    await wait.pause(
      partitions.changes(entity),
      earliest(logs.map((log) => dependencies.messages.emptyAt(log))),
    );
  }
  return [];
}

/** The result of a look, or 'busy': a receive with time left tries again after lost races and throttling. */
async function orBusy<Found>(look: Promise<Found>, isLast: boolean): Promise<Found | 'busy'> {
  try {
    return await look;
  } catch (error) {
    if (!isBusy(error) || isLast) throw error;
    return 'busy';
  }
}

/** The earliest instant; undefined if one is. */
function earliest(instants: readonly (number | undefined)[]): number | undefined {
  const known = instants.filter((instant) => instant !== undefined);
  return known.length === instants.length ? Math.min(...known) : undefined;
}
