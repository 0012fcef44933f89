import { sequenceNumberOf, splitSequenceNumber } from '../domain/block.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { LIMITS } from '../domain/limits.ts';
import { logOf } from '../domain/log.ts';
import { policyOf } from '../domain/log-policy.ts';
import type { StoredMessage } from '../domain/message.ts';
import { findReceivable } from './addressed.ts';
import type { PeekOptions } from './broker.ts';
import type { BrokerParts } from './broker-parts.ts';
import { forwardTopicDue } from './forward-pending.ts';
import { settleLapsed } from './settle-lapsed.ts';

/** Shows messages without touching them; see `Broker.peek`. */
export async function peek(
  parts: BrokerParts,
  path: EntityPath,
  { fromSequenceNumber = sequenceNumberOf(0, 0n), maxMessages }: PeekOptions,
): Promise<readonly StoredMessage[]> {
  const entity = await findReceivable(parts, path);
  const { partition, sequence } = splitSequenceNumber(fromSequenceNumber);
  if (partition > 0) return [];
  await forwardTopicDue(parts, path);
  await settleLapsed(parts, entity, path);
  return await parts.messages.peek(logOf(entity, path.subQueue, partition), {
    from: sequence,
    maxMessages: Math.min(maxMessages, LIMITS.peekMessages),
    maxBytes: LIMITS.peekBytes,
    rules: policyOf(entity, path.subQueue, partition).rules,
  });
}
