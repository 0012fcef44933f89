import { sequenceNumberOf, splitSequenceNumber } from '../domain/block.ts';
import { partitionNumbers } from '../domain/entity.ts';
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

/** So many partitions are asked side by side. */
const AT_ONCE = 4;

/** Shows messages without touching them; see `Broker.peek`. */
export async function peek(
  parts: BrokerParts,
  path: EntityPath,
  { fromSequenceNumber = sequenceNumberOf(0, 0n), maxMessages }: PeekOptions,
): Promise<readonly StoredMessage[]> {
  const entity = await findReceivable(parts, path);
  const from = splitSequenceNumber(fromSequenceNumber);
  await settleLapsed(parts, entity, path);
  const max = Math.min(maxMessages, LIMITS.peekMessages);
  const shown: StoredMessage[] = [];
  let bytesLeft: number = LIMITS.peekBytes;
  // In order of the numbers, of which the partition is the top, so that whoever goes on after the
  // last one misses nothing. The first one mostly has enough; further ones are mostly empty.
  let partitions = partitionNumbers(entity).slice(from.partition);
  for (let atOnce = 1; partitions.length > 0; atOnce = AT_ONCE) {
    const request = { maxMessages: max - shown.length, maxBytes: bytesLeft };
    const pages = await Promise.all(
      partitions.slice(0, atOnce).map(async (partition) => {
        await forwardTopicDue(parts, path, partition);
        return await parts.messages.peek(logOf(entity, path.subQueue, partition), {
          ...request,
          from: partition === from.partition ? from.sequence : 0n,
          rules: policyOf(entity, path.subQueue, partition).rules,
        });
      }),
    );
    for (const { messages, isCut } of pages) {
      for (const message of messages) {
        bytesLeft -= messageSize(message.message);
        if (shown.length === max || (shown.length > 0 && bytesLeft < 0)) return shown;
        shown.push(message);
      }
      if (isCut) return shown;
    }
    partitions = partitions.slice(atOnce);
  }
  return shown;
}
