import { sequenceNumberOf, splitSequenceNumber } from '../../domain/blocks/block.ts';
import { logOf } from '../../domain/blocks/log.ts';
import { policyOf, type Receivable } from '../../domain/blocks/log-policy.ts';
import { partitionNumbers } from '../../domain/entities/entity.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { StoredMessage } from '../../domain/messages/message.ts';
import { messageSize } from '../../domain/messages/outgoing-rules.ts';
import type { PeekOptions } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import { findReceivable } from '../entity-lookup.ts';
import { forwardTopicDue } from '../routing/forward-pending.ts';
import { requireSessionFits, sessionLog, sessionPolicy } from '../sessions/session-operations.ts';
import { deadLetterLapsed } from './dead-letter-lapsed.ts';

/** How many partitions are asked at the same time. */
const AT_ONCE = 4;

/**
 * Shows messages of one sub-queue (semantics #75), of all its sessions unless one is named (semantics S9, S12); see
 * `Broker.peek`. It locks nothing and counts no delivery (semantics #74). In a dead-letter queue it first moves in
 * messages of the main queue whose last lock expired (semantics D2).
 */
export async function peek(
  dependencies: BrokerDependencies,
  path: EntityPath,
  options: PeekOptions,
): Promise<readonly StoredMessage[]> {
  const {
    fromSequenceNumber = sequenceNumberOf(0, 0n),
    maxMessages,
    sessionId,
    payloads,
  } = options;
  const entity = await findReceivable(dependencies, path);
  if (sessionId !== undefined) {
    requireSessionFits(entity, path, sessionId);
    return await peekSession(dependencies, entity, path, sessionId, options);
  }
  const from = splitSequenceNumber(fromSequenceNumber);
  await deadLetterLapsed(dependencies, entity, path);
  const max = Math.min(maxMessages, LIMITS.peekMessages);
  const shown: StoredMessage[] = [];
  let bytesLeft: number = LIMITS.peekBytes;
  // In order of sequence numbers, whose highest bits are the partition, so that a client that continues after the last
  // number misses nothing (semantics #P14). The first partition usually has enough; further ones are usually empty.
  let partitions = partitionNumbers(entity).slice(from.partition);
  for (let atOnce = 1; partitions.length > 0; atOnce = AT_ONCE) {
    const request = { maxMessages: max - shown.length, maxBytes: bytesLeft };
    const pages = await Promise.allSettled(
      partitions.slice(0, atOnce).map(async (partition) => {
        await forwardTopicDue(dependencies, path, partition);
        return await dependencies.messages.peek(logOf(entity, path.subQueue, partition), {
          ...request,
          from: partition === from.partition ? from.sequence : 0n,
          rules: policyOf(entity, path.subQueue, partition).rules,
          payloads,
        });
      }),
    );
    for (const page of pages) {
      // What a partition in front has filled is an answer, whatever became of those behind it.
      if (page.status === 'rejected') throw page.reason;
      const { messages, isCut } = page.value;
      for (const message of messages) {
        bytesLeft -= messageSize(message.message);
        if (shown.length === max || (shown.length > 0 && bytesLeft < 0)) return shown;
        shown.push(message);
      }
      if (isCut) return shown;
    }
    if (shown.length === max) return shown;
    partitions = partitions.slice(atOnce);
  }
  return shown;
}

async function peekSession(
  dependencies: BrokerDependencies,
  entity: Receivable,
  path: EntityPath,
  sessionId: string,
  { fromSequenceNumber, maxMessages, payloads }: PeekOptions,
): Promise<readonly StoredMessage[]> {
  const log = sessionLog(entity, sessionId);
  await forwardTopicDue(dependencies, path, log.partition);
  const from = splitSequenceNumber(fromSequenceNumber ?? sequenceNumberOf(log.partition, 0n));
  // All numbers of another partition are lower, or all are higher.
  if (from.partition > log.partition) return [];
  const { rules } = sessionPolicy(entity, log, await dependencies.sessions.lockState(log));
  const { messages } = await dependencies.messages.peek(log, {
    from: from.partition < log.partition ? 0n : from.sequence,
    maxMessages: Math.min(maxMessages, LIMITS.peekMessages),
    maxBytes: LIMITS.peekBytes,
    rules,
    payloads,
  });
  return messages;
}
