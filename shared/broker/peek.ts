import { sequenceNumberOf, splitSequenceNumber } from '../domain/block.ts';
import { partitionsOf } from '../domain/entity.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { LIMITS } from '../domain/limits.ts';
import { logOf } from '../domain/log.ts';
import { policyOf } from '../domain/log-policy.ts';
import type { StoredMessage } from '../domain/message.ts';
import { messageSize } from '../domain/outgoing-rules.ts';
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
  const from = splitSequenceNumber(fromSequenceNumber);
  await settleLapsed(parts, entity, path);
  const shown: StoredMessage[] = [];
  let bytesLeft: number = LIMITS.peekBytes;
  const max = Math.min(maxMessages, LIMITS.peekMessages);
  // In order of the numbers, of which the partition is the top, so that whoever goes on after the
  // last one misses nothing.
  for (let { partition } = from; partition < partitionsOf(entity); partition++) {
    await forwardTopicDue(parts, path, partition);
    const { messages, isCut } = await parts.messages.peek(logOf(entity, path.subQueue, partition), {
      from: partition === from.partition ? from.sequence : 0n,
      maxMessages: max - shown.length,
      maxBytes: bytesLeft,
      rules: policyOf(entity, path.subQueue, partition).rules,
    });
    shown.push(...messages);
    bytesLeft -= messages.reduce((sum, { message }) => sum + messageSize(message), 0);
    if (isCut || bytesLeft <= 0) break;
  }
  return shown;
}
