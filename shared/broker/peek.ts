import { sequenceNumberOf, splitSequenceNumber } from '../domain/block.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { LIMITS } from '../domain/limits.ts';
import { logOf } from '../domain/log.ts';
import { policyOf, type Receivable } from '../domain/log-policy.ts';
import type { StoredMessage } from '../domain/message.ts';
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

async function peekSession(
  parts: BrokerParts,
  entity: Receivable,
  path: EntityPath,
  sessionId: string,
  { fromSequenceNumber, maxMessages }: PeekOptions,
): Promise<readonly StoredMessage[]> {
  await forwardTopicDue(parts, path);
  const log = sessionLog(entity, sessionId);
  const from = splitSequenceNumber(fromSequenceNumber ?? sequenceNumberOf(log.partition, 0n));
  // The numbers of other partitions are all lower, or all higher.
  if (from.partition > log.partition) return [];
  const { rules } = sessionPolicy(entity, log, await parts.sessions.rulesOf(log));
  return await parts.messages.peek(log, {
    from: from.partition < log.partition ? 0n : from.sequence,
    maxMessages: Math.min(maxMessages, LIMITS.peekMessages),
    maxBytes: LIMITS.peekBytes,
    rules,
  });
}
