import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { partitionNumbers } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import type { ReceivedMessage, ReceiveOptions } from '../broker.ts';
import type { BrokerParts } from '../dependencies.ts';
import { findReceivable, requireNotForwarding, requireReceivable } from '../entity-lookup.ts';
import { sendOn } from '../routing/forward-pending.ts';
import { receiveInSession, requireSessionFits } from '../sessions/in-session.ts';
import { settleLapsed } from './dead-letter-lapsed.ts';
import { Gathering } from './partitioned-receive.ts';
import { Vigil } from './receive-wait.ts';

/** While a receive waits on a dead-letter queue, the main queue is looked at this often. */
const LOOK_EVERY_MS = 5000;
/** So long a receive that waits lets pass before it looks again where the service was busy; twice as long each time. */
const BUSY_PAUSE_MS = { first: 100, most: 2000 };

/** Hands out messages, waiting for a first one if asked to; see `Broker.receive`. */
export async function receive(
  parts: BrokerParts,
  path: EntityPath,
  options: ReceiveOptions,
): Promise<readonly ReceivedMessage[]> {
  const { session } = options;
  if (session !== undefined) return await receiveInSession(parts, path, options, session);
  const vigil = new Vigil(parts, options.waitMs, options.signal);
  try {
    return await lookAndWait(parts, path, options, vigil);
  } finally {
    vigil.end();
  }
}

async function lookAndWait(
  parts: BrokerParts,
  path: EntityPath,
  options: ReceiveOptions,
  vigil: Vigil,
): Promise<readonly ReceivedMessage[]> {
  const gathering = new Gathering(parts, path, options);
  let lookAgainAt = 0;
  let busyMs = BUSY_PAUSE_MS.first;
  for (let looks = 0; !vigil.isGivenUp; looks++) {
    // Asked again after each wait: the entity may have been changed, disabled or deleted meanwhile.
    const entity = await findReceivable(parts, path);
    requireReceivable(entity);
    requireNotForwarding(entity, path.subQueue);
    requireSessionFits(entity, path, undefined);
    const logs = partitionNumbers(entity).map((number) => logOf(entity, path.subQueue, number));
    const isLast = !vigil.listen(logs);
    await options.admit?.();
    // Whoever asked may have gone meanwhile: nothing is claimed for nobody.
    if (vigil.isGivenUp) break;
    // Everywhere at first and before going away with nothing; in between some take turns.
    const breadth = looks === 0 || isLast ? 'all' : 'some';
    const looked = await orBusy(gathering.look(entity, breadth), isLast);
    if (looked === 'busy') {
      options.onWait?.();
      await vigil.pause(parts.clock.now() + busyMs);
      busyMs = Math.min(BUSY_PAUSE_MS.most, 2 * busyMs);
      continue;
    }
    busyMs = BUSY_PAUSE_MS.first;
    let messages = looked;
    const isTimeToLook = parts.monotonicNow() >= lookAgainAt;
    if (messages.length === 0 && isTimeToLook) lookAgainAt = parts.monotonicNow() + LOOK_EVERY_MS;
    if (messages.length === 0 && isTimeToLook && (await settleLapsed(parts, entity, path))) {
      messages = await gathering.look(entity, 'all');
    }
    // What was found expired or used up on the way may have to go on from the dead-letter queue.
    if (entity.description.forwardDeadLetteredMessagesTo !== undefined) {
      await sendOn(parts, entity, gathering.asked);
    }
    if (messages.length > 0 || isLast) return messages;
    options.onWait?.();
    await vigil.pause(changesAt(parts, entity, path));
  }
  return [];
}

/** What a look found. A receive that has time left is not refused because others were faster, or for a throttle. */
async function orBusy<Found>(look: Promise<Found>, isLast: boolean): Promise<Found | 'busy'> {
  try {
    return await look;
  } catch (error) {
    const isBusy = error instanceof BrokerError && error.code === 'ServiceBusy';
    if (!isBusy || isLast) throw error;
    return 'busy';
  }
}

/** When a look may find something though nobody did anything. */
function changesAt(parts: BrokerParts, entity: Receivable, { subQueue }: EntityPath): number {
  const times = partitionNumbers(entity).map((number) =>
    parts.messages.changesAt(logOf(entity, subQueue, number), policyOf(entity, subQueue, number)),
  );
  return Math.min(...times);
}
