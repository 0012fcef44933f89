import type { EntityPath } from '../domain/entity-path.ts';
import { LIMITS } from '../domain/limits.ts';
import { logOf } from '../domain/log.ts';
import { policyOf } from '../domain/log-policy.ts';
import { findReceivable, requireNotForwarding, requireReceivable } from './addressed.ts';
import type { ReceivedMessage, ReceiveOptions } from './broker.ts';
import type { BrokerParts } from './broker-parts.ts';
import { forwardTopicDue, sendOn } from './forward-pending.ts';
import { arrivalOr } from './give-up.ts';
import { receiveInSession, requireSessionFits } from './in-session.ts';
import type { ClaimRequest } from './ports.ts';
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
  const deadline = parts.monotonicNow() + options.waitMs;
  let lookAgainAt = 0;
  for (;;) {
    if (options.signal?.aborted) return [];
    // Asked again after each wait: the entity may have been changed, disabled or deleted meanwhile.
    const entity = await findReceivable(parts, path);
    requireReceivable(entity);
    requireNotForwarding(entity, path.subQueue);
    requireSessionFits(entity, path, undefined);
    const log = logOf(entity, path.subQueue, 0);
    const left = parts.arrivals.isClosing ? 0 : deadline - parts.monotonicNow();
    const arrival = left > 0 ? parts.arrivals.wait([log], left) : undefined;
    const request: ClaimRequest = {
      ...policyOf(entity, path.subQueue, log.partition),
      mode: options.mode,
      maxMessages: options.maxMessages,
      maxBytes: LIMITS.receiveBytes,
      lockMs: entity.description.lockMs,
    };
    await forwardTopicDue(parts, path);
    let messages = await parts.messages.claim(log, request);
    const isTimeToLook = parts.monotonicNow() >= lookAgainAt;
    if (messages.length === 0 && isTimeToLook) lookAgainAt = parts.monotonicNow() + LOOK_EVERY_MS;
    if (messages.length === 0 && isTimeToLook && (await settleLapsed(parts, entity, path))) {
      messages = await parts.messages.claim(log, request);
    }
    // What was found expired or used up on the way may have to go on from the dead-letter queue.
    if (entity.description.forwardDeadLetteredMessagesTo !== undefined) {
      await sendOn(parts, entity);
    }
    if (messages.length > 0 || arrival === undefined) {
      arrival?.cancel();
      return messages;
    }
    await arrivalOr(options.signal, arrival);
  }
}
