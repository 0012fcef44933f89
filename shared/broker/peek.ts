import { sequenceNumberOf, splitSequenceNumber } from '../domain/block.ts';
import { partitionsOf } from '../domain/entity.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { LIMITS } from '../domain/limits.ts';
import { logOf } from '../domain/log.ts';
import { policyOf, type Receivable } from '../domain/log-policy.ts';
import type { StoredMessage } from '../domain/message.ts';
import { messageSize } from '../domain/outgoing-rules.ts';
import { findReceivable } from './addressed.ts';
import type { PeekOptions } from './broker.ts';
import type { BrokerParts } from './broker-parts.ts';
import { forwardTopicDue } from './forward-pending.ts';
import { requireSessionFits, sessionLog, sessionPolicy } from './in-session.ts';
import { settleLapsed } from './settle-lapsed.ts';

/** Shows messages without touching them; see `Broker.peek`. */
export async function peek(
  parts: BrokerParts,
  path: EntityPath,
  options: PeekOptions,
): Promise<readonly StoredMessage[]> {
  const { fromSequenceNumber = sequenceNumberOf(0, 0n), maxMessages, sessionId } = options;
  const entity = await findReceivable(parts, path);
  requireSessionFits(entity, path, sessionId);
  if (sessionId !== undefined) return await peekSession(parts, entity, path, sessionId, options);
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

async function peekSession(
  parts: BrokerParts,
  entity: Receivable,
  path: EntityPath,
  sessionId: string,
  { fromSequenceNumber, maxMessages }: PeekOptions,
): Promise<readonly StoredMessage[]> {
  const log = sessionLog(entity, sessionId);
  await forwardTopicDue(parts, path, log.partition);
  const from = splitSequenceNumber(fromSequenceNumber ?? sequenceNumberOf(log.partition, 0n));
  // The numbers of other partitions are all lower, or all higher.
  if (from.partition > log.partition) return [];
  const { rules } = sessionPolicy(entity, log, await parts.sessions.rulesOf(log));
  const { messages } = await parts.messages.peek(log, {
    from: from.partition < log.partition ? 0n : from.sequence,
    maxMessages: Math.min(maxMessages, LIMITS.peekMessages),
    maxBytes: LIMITS.peekBytes,
    rules,
  });
  return messages;
}
