import type { EntityPath } from '../domain/entity-path.ts';
import { LIMITS } from '../domain/limits.ts';
import { logOf } from '../domain/log.ts';
import { policyOf } from '../domain/log-policy.ts';
import { findReceivable, requireReceivable } from './addressed.ts';
import type { ReceivedMessage, ReceiveOptions } from './broker.ts';
import type { BrokerParts } from './broker-parts.ts';
import type { ClaimRequest } from './ports.ts';
import { settleLapsed } from './settle-lapsed.ts';

/** Hands out messages, waiting for a first one if asked to; see `Broker.receive`. */
export async function receive(
  parts: BrokerParts,
  path: EntityPath,
  options: ReceiveOptions,
): Promise<readonly ReceivedMessage[]> {
  const deadline = parts.monotonicNow() + options.waitMs;
  for (;;) {
    // Asked again after each wait: the entity may have been changed, disabled or deleted meanwhile.
    const entity = await findReceivable(parts, path);
    requireReceivable(entity);
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
    let messages = await parts.messages.claim(log, request);
    if (messages.length === 0 && (await settleLapsed(parts, entity, path))) {
      messages = await parts.messages.claim(log, request);
    }
    if (messages.length > 0 || arrival === undefined) {
      arrival?.cancel();
      return messages;
    }
    await arrival.done;
  }
}
