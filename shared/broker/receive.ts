import { partitionsOf } from '../domain/entity.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { requireNotForwarding } from './addressed.ts';
import type { ReceivedMessage, ReceiveOptions } from './broker.ts';
import type { BrokerParts } from './broker-parts.ts';
import { sendOn } from './forward-pending.ts';
import { Gathering } from './gather.ts';
import { receiveInSession, requireSessionFits } from './in-session.ts';
import { lookAndWait } from './look-and-wait.ts';
import { settleLapsed } from './settle-lapsed.ts';

/** While a receive waits on a dead-letter queue, the main queue is looked at this often. */
const LOOK_EVERY_MS = 5000;

/** Hands out messages, waiting for a first one if asked to; see `Broker.receive`. */
export async function receive(
  parts: BrokerParts,
  path: EntityPath,
  options: ReceiveOptions,
): Promise<readonly ReceivedMessage[]> {
  const { session } = options;
  if (session !== undefined) return await receiveInSession(parts, path, options, session);
  const gathering = new Gathering(parts, path, options);
  let messages: readonly ReceivedMessage[] = [];
  let lookAgainAt = 0;
  await lookAndWait(parts, path, {
    waitMs: options.waitMs,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    turn: (entity) => (partitionsOf(entity) === 1 ? 'inTurn' : 'each'),
    look: async (entity, isFirst, isLast) => {
      requireNotForwarding(entity, path.subQueue);
      requireSessionFits(entity, path, undefined);
      // Everywhere at first and before going away with nothing; in between some take turns.
      messages = await gathering.look(entity, isFirst || isLast ? 'all' : 'some');
      const isTimeToLook = parts.monotonicNow() >= lookAgainAt;
      if (messages.length === 0 && isTimeToLook) lookAgainAt = parts.monotonicNow() + LOOK_EVERY_MS;
      if (messages.length === 0 && isTimeToLook && (await settleLapsed(parts, entity, path))) {
        messages = await gathering.look(entity, 'all');
      }
      // What was found expired or used up on the way may have to go on from the dead-letter queue.
      if (entity.description.forwardDeadLetteredMessagesTo !== undefined) {
        await sendOn(parts, entity, gathering.asked);
      }
      return messages.length > 0;
    },
  });
  return messages;
}
